package docker

import (
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// Where PID 1 reaps nothing, what was ended is a zombie there: it counts as dead. The
// helper reaps it. Without one it takes a place under the limit of processes, and when
// there is none left the error says so.
func TestDKX08ZombiesAreDead(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	for _, policy := range []helper.Policy{helper.Require, helper.Never} {
		t.Run("helper "+string(policy), func(t *testing.T) {
			t.Parallel()
			name := d.Run(t, servers.ContainerOptions{NoInit: true, Cmd: []string{"sleep", "3600"}, Pids: 64})
			set := opened(t, Options{Host: d.Host, Container: name, Dir: "/ws", Helper: policy, Helpers: helpertest.Bundle(t)})
			for i := range often(3, 100) {
				exit, err := set.Bash.Exec(t.Context(), ops.Command{Script: "(sleep 0.1 &) ; sleep 50", Timeout: time.Second, Grace: 300 * time.Millisecond}, nil)
				if policy == helper.Never && err != nil {
					t.Logf("full after %d calls: %v", i, err)
					if i < 10 || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "limit") {
						t.Errorf("call %d: %v", i, err)
					}
					return
				}
				if err != nil || !exit.TimedOut || len(exit.Survivors) > 0 {
					t.Fatalf("call %d: %+v, %v", i, exit, err)
				}
			}
		})
	}
}

// A container that is full of processes says so, and serves again once they have ended.
func TestDKX07NoProcessIsLeft(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	for _, policy := range []helper.Policy{helper.Require, helper.Never} {
		t.Run("helper "+string(policy), func(t *testing.T) {
			t.Parallel()
			name := d.Run(t, servers.ContainerOptions{Pids: 40})
			set := opened(t, Options{Host: d.Host, Container: name, Dir: "/ws", Helper: policy, Helpers: helpertest.Bundle(t)})
			// The shell that can't fork any more ends.
			out, exit, err := output(t.Context(), set, "while :; do sleep 3600 & done")
			t.Logf("%q, %+v, %v", out, exit, err)
			if err == nil && exit.Code == 0 {
				t.Error("the command that found no process left ended well")
			}
			_, _, err = output(t.Context(), set, "echo alive")
			if t.Log(err); err != nil && !strings.Contains(err.Error(), "limit") && !strings.Contains(err.Error(), "as many as are allowed") {
				t.Errorf("%v", err)
			}
			if policy == helper.Never {
				// The places that the shell left may do for a command; what it leaves behind
				// takes them. Then nothing can be started that would end them.
				for i := 0; err == nil && i < 40; i++ {
					_, _, err = output(t.Context(), set, "sleep 3600 & echo alive")
				}
				if err == nil {
					t.Error("a command was started")
				}
				d.Restart(t, name)
			}
			if out, _, err := output(t.Context(), set, "echo alive"); out != "alive\n" {
				t.Errorf("afterwards: %q, %v", out, err)
			}
		})
	}
}

package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// Without a helper nothing at the target notices that a connection broke: what was
// under way is unknown, and is ended when the workspace is closed.
func TestDKX06LostCommandIsEndedAtClose(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{})
	bridge := fullCloseProxy(t, strings.TrimPrefix(d.Host, "unix://"))
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: strings.TrimPrefix(bridge, "tcp://")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	w, err := Open(t.Context(), Options{Host: "tcp://" + proxy.Addr(), Container: name, Dir: "/ws", Helper: helper.Never})
	if err != nil {
		t.Fatal(err)
	}
	stamp := fmt.Sprint(7_000_000 + time.Now().UnixNano()%900_000)
	var out strings.Builder
	_, err = w.Set().Bash.Exec(t.Context(), ops.Command{Script: "sleep " + stamp + " & while :; do echo loud; sleep 0.1; done"}, func(c ops.Chunk) {
		out.Write(c.Data)
		proxy.CutAfter(faultproxy.Down, 0) // the next output does not arrive
	})
	proxy.CutAfter(faultproxy.Down, -1)
	if ops.KindOf(err) != ops.KindOutcomeUnknown || !strings.HasPrefix(out.String(), "loud\n") {
		t.Errorf("%q, %v", out.String(), err)
	}
	if n := d.Top(t, name, stamp); n != 1 {
		t.Errorf("%d processes are there before Close, want 1", n)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if n := d.Top(t, name, stamp); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// Closing a workspace whose container is paused or gone returns in time, and a dead
// container makes each call fail with the same clear sentence.
func TestDKX10CloseIsBounded(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	for _, policy := range []helper.Policy{helper.Require, helper.Never} {
		for how, end := range map[string]func(testing.TB, string){"pause": d.Pause, "remove": d.Remove} {
			t.Run(how+", helper "+string(policy), func(t *testing.T) {
				t.Parallel()
				name := d.Run(t, servers.ContainerOptions{})
				w, err := Open(t.Context(), Options{Host: d.Host, Container: name, Dir: "/ws", Helper: policy, Helpers: helpertest.Bundle(t)})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Set().Bash.Exec(t.Context(), ops.Command{Script: "sleep 3600 &"}, nil); err != nil {
					t.Error(err)
				}
				end(t, name)
				if how == "remove" {
					for range 2 {
						ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
						_, err := w.Set().Bash.Exec(ctx, ops.Command{Script: "true"}, nil)
						if ops.KindOf(err) == "" || !strings.Contains(err.Error(), name) || errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("a call: %v", err)
						}
						cancel()
					}
				}
				begin := time.Now()
				err = w.Close()
				if took := time.Since(begin); took > time.Minute {
					t.Errorf("it took %v (%v)", took, err)
				}
			})
		}
	}
}

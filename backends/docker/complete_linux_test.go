package docker

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// While the machine computes, output is complete every time and an exit code is always
// the command's own.
func TestDKX02EveryOutputIsComplete(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	for _, policy := range []helper.Policy{helper.Require, helper.Never} {
		t.Run("helper "+string(policy), func(t *testing.T) {
			t.Parallel()
			name := d.Run(t, servers.ContainerOptions{})
			set := opened(t, Options{Host: d.Host, Container: name, Dir: "/ws", Helper: policy, Helpers: helpertest.Bundle(t)})
			end := load(t)
			defer end()
			share := int64(1) // of the calls; the agentless mode starts a process in the container for each
			if policy == helper.Never {
				share = int64(often(8, 4))
			}
			atOnce(int64(often(120, 5000))/share, func(i int64) {
				out, exit, err := output(t.Context(), set, "printf running")
				if out != "running" || exit.Code != 0 || err != nil {
					t.Errorf("output %d: %q, %+v, %v", i, out, exit, err)
				}
			})
			atOnce(int64(often(40, 500))/share, func(i int64) {
				if out, exit, err := output(t.Context(), set, "exit 7"); out != "" || exit.Code != 7 || err != nil {
					t.Errorf("exit %d: %q, %+v, %v", i, out, exit, err)
				}
			})
		})
	}
}

// load computes until end is called.
func load(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for n := uint64(1); ctx.Err() == nil; {
				for range 1 << 16 {
					n = n*6364136223846793005 + 1
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// atOnce calls do n times, four at once.
func atOnce(n int64, do func(i int64)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := next.Add(1); i <= n; i = next.Add(1) {
				do(i)
			}
		})
	}
	all.Wait()
}

func output(ctx context.Context, set ops.Set, script string) (string, ops.Exit, error) {
	var out strings.Builder
	exit, err := set.Bash.Exec(ctx, ops.Command{Script: script, Timeout: 5 * time.Minute}, func(c ops.Chunk) { out.Write(c.Data) })
	return out.String(), exit, err
}

package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// tree is one that outlives a kill unless it is ended as a whole. Each of its processes
// has the argument %[1]s.
type tree struct {
	name, script string
	count        int // processes with the argument, once all are there
	// hidden says how many of them the agentless mode declares that it can't see.
	hidden int
}

func trees() []tree {
	return []tree{
		{"foreground", "sleep %[1]s; :", 1, 0},
		{"background", "sleep %[1]s & (trap '' HUP; exec sleep %[1]s) & sleep %[1]s; :", 3, 0},
		{"session", "setsid sleep %[1]s & setsid sh -c 'setsid sleep %[1]s & sleep 0.05' & sleep %[1]s; :", 3, 0},
		{"double fork", "( ( sleep %[1]s & ) & ); ( (setsid setsid sleep %[1]s &) & ); sleep %[1]s; :", 3, 0},
		{"ignores TERM", "trap '' TERM; sleep %[1]s & setsid sleep %[1]s & while :; do sleep %[1]s; done", 3, 0},
		{"cleared environment", "env -i sleep %[1]s & env -i setsid sleep %[1]s & sleep %[1]s; :", 3, 0},
		{"cleared environment, double fork, session", "( (env -i setsid sleep %[1]s >/dev/null 2>&1 &) & ); sleep %[1]s; :", 2, 1},
		{"leader gone", "( (sleep %[1]s; :) & (setsid sleep %[1]s; :) & ); exec sleep %[1]s", 3, 0},
		{"stopped", "sleep %[1]s & until [ $(cat /proc/$!/comm) = sleep ]; do :; done; kill -STOP $!; sleep %[1]s; :", 2, 0},
		{
			"re-spawner", `f=/tmp/spawn-%[1]s; cat >$f <<'X'
trap '[ $1 -lt 6 ] && { setsid sh $0 $(($1+1)) $2 & }; exit' TERM
sleep $2 & while :; do wait; done
X
sh $f 0 %[1]s & setsid sh $f 3 %[1]s & sleep %[1]s; :`, 5, 0,
		},
	}
}

// Each tree is ended by timeout and by abort; docker top shows nothing of it when the
// call returns, but for what the agentless mode declares out of its sight. The short
// form takes each tree in each mode in one of the two ways.
func TestDKX01NothingOutlivesAKill(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	for m, policy := range []helper.Policy{helper.Require, helper.Never} {
		name := d.Run(t, servers.ContainerOptions{})
		set := opened(t, Options{Host: d.Host, Container: name, Dir: "/ws", Helper: policy, Helpers: helpertest.Bundle(t)})
		t.Run("helper "+string(policy), func(t *testing.T) {
			t.Parallel()
			for i, tr := range trees() {
				for h, how := range []string{"timeout", "abort"} {
					if often(0, 1) == 0 && (i+h+m)%2 == 0 {
						continue
					}
					for range often(1, 5) {
						if policy == helper.Require {
							tr.hidden = 0
						}
						endTree(t, d, name, set, tr, how)
					}
				}
			}
		})
	}
}

// withLast counts the processes of this machine, and so of its containers, whose command
// line ends in a word: what servers.Dockerd.Top counts, without a process for each look.
func withLast(t *testing.T, word string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Error(err)
	}
	for _, file := range files {
		argv, err := os.ReadFile(file)
		if line := bytes.ReplaceAll(bytes.TrimRight(argv, "\x00"), []byte{0}, []byte{' '}); err == nil && bytes.HasSuffix(line, []byte(" "+word)) {
			n++
		}
	}
	return n
}

// endTree ends a tree once it is seen whole. A timeout that comes before is tried again
// with more time.
func endTree(t *testing.T, d *servers.Dockerd, container string, set ops.Set, tr tree, how string) {
	t.Helper()
	const patience = 2 * time.Minute
	for timeout := 2 * time.Second; ; timeout *= 3 {
		arg := fmt.Sprint(8_000_000 + time.Now().UnixNano()%900_000_000)
		cmd := ops.Command{Script: fmt.Sprintf(tr.script, arg), Dir: "/ws", Grace: 150 * time.Millisecond}
		if how == "timeout" {
			cmd.Timeout = timeout
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		seen, over := make(chan time.Time, 1), make(chan struct{})
		go func() {
			defer close(seen)
			ticker := time.NewTicker(50 * time.Millisecond)
			defer ticker.Stop()
			for {
				if withLast(t, arg) >= tr.count {
					seen <- time.Now()
					if how == "abort" {
						cancel()
					}
					return
				}
				select {
				case <-ticker.C:
				case <-over:
					return
				}
			}
		}()
		exit, err := set.Bash.Exec(ctx, cmd, nil)
		end := time.Now()
		close(over)
		at, whole := <-seen
		cancel()
		left := d.Top(t, container, arg)
		if left > tr.hidden || len(exit.Survivors) > 0 {
			t.Errorf("%s, %s: %d processes are left; %+v, %v", tr.name, how, left, exit, err)
		}
		if left > 0 {
			_, _ = set.Bash.Exec(t.Context(), ops.Command{Script: "kill -KILL $(pidof sleep)", Timeout: time.Minute}, nil) // nothing else sleeps there
		}
		switch {
		case whole && how == "timeout" && (err != nil || !exit.TimedOut), how == "abort" && !errors.Is(err, context.Canceled):
			t.Errorf("%s, %s: %+v, %v; seen whole: %v", tr.name, how, exit, err, whole)
			return
		case whole:
			t.Logf("%s, %s: ended within %v", tr.name, how, end.Sub(at)-cmd.Timeout)
			return
		case timeout > patience/3:
			t.Errorf("%s, %s: the tree was never seen whole: %+v, %v", tr.name, how, exit, err)
			return
		}
	}
}

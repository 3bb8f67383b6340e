package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// soak reports whether the long forms of the tests are asked for.
func soak() bool {
	return os.Getenv("PIREMOTE_SOAK") == "1" //nolint:forbidigo // tests read their own switches
}

// often is how often something random is tried.
func often(short, long int) int {
	if soak() {
		return long
	}
	return short
}

// escape is a tree that outlives a kill unless it is ended as a whole. Each of
// its processes has the argument %[1]s.
type escape struct {
	id, name, script string
	count            int // processes with the argument, once all are there
	// hidden says that one of them can't be told from a stranger without a
	// supervisor: it left its session, lost its parents and has no environment.
	hidden int
}

// The re-spawner starts its successor when it is told to end, at most
// respawns times.
const respawns = 6

func escapes() []escape {
	return []escape{
		{"PROC04", "setsid", "setsid sleep %[1]s & setsid bash -c 'setsid sleep %[1]s & sleep 0.05' & sleep %[1]s; :", 3, 0},
		{"PROC04", "double fork", "( ( sleep %[1]s & ) & ); ( (setsid setsid sleep %[1]s &) & ); sleep %[1]s; :", 3, 0},
		{"BASH02", "ignores TERM", "trap '' TERM; sleep %[1]s & setsid sleep %[1]s & while :; do sleep %[1]s; done", 3, 0},
		{"PROC04", "cleared environment", "env -i sleep %[1]s & env -i setsid sleep %[1]s & sleep %[1]s; :", 3, 0},
		{"PROC04", "cleared environment, double fork, session", "( (env -i setsid sleep %[1]s >/dev/null 2>&1 &) & ); sleep %[1]s; :", 2, 1},
		{"PROC03", "holds the pipe", "sleep %[1]s & setsid sleep %[1]s & ( (setsid sleep %[1]s 2>&1 &) & ); sleep %[1]s; :", 4, 0},
		{"PROC02", "leader gone", "( (sleep %[1]s; :) & (setsid sleep %[1]s; :) & ); exec sleep %[1]s", 3, 0},
		{"PROC04", "stopped", "sleep %[1]s & until [ $(cat /proc/$!/comm) = sleep ]; do :; done; kill -STOP $!; sleep %[1]s; :", 2, 0},
		{
			"PROC04", "bounded re-spawner", `cat >spawn.sh <<'X'
trap '[ $1 -lt ` + fmt.Sprint(respawns) + ` ] && { setsid bash spawn.sh $(($1+1)) $2 & }; exit' TERM
sleep $2 & while :; do wait; done
X
bash spawn.sh 0 %[1]s & setsid bash spawn.sh 3 %[1]s & sleep %[1]s; :`, 5, 0,
		},
	}
}

// TestPROC04NothingOutlivesAKill ends each tree by timeout and by abort, in both
// modes, and counts what lives with an argument that nothing else has.
func TestPROC04NothingOutlivesAKill(t *testing.T) {
	for _, m := range modes() {
		for _, tree := range escapes() {
			for _, how := range []string{"timeout", "abort"} {
				t.Run(m.name+" "+tree.id+" "+tree.name+" "+how, func(t *testing.T) {
					if !soak() && tree.hidden == 0 {
						t.Parallel() // only what nobody can tell apart must be alone
					}
					var slowest time.Duration
					hidden := 0
					n := often(2, 50)
					late := 0
					for range n {
						took, left := endOnce(t, m, tree, how)
						slowest = max(slowest, took)
						hidden += left
						if took > escapeGrace+time.Second {
							late++
						}
						if t.Failed() {
							return
						}
					}
					t.Logf("%d times, the slowest ended %v after the signal to end, %d after more than grace and a second; out of sight: %d",
						n, slowest.Round(time.Millisecond), late, hidden)
				})
			}
		}
	}
}

const (
	escapeGrace   = 150 * time.Millisecond
	escapeTimeout = 400 * time.Millisecond
	seenWithin    = 20 * time.Second
	// quick is what starting a shell takes on a machine that is not overloaded.
	quick = 20 * time.Millisecond
)

// overload is by how much this machine is slower now than one that has nothing
// else to do.
func overload(t *testing.T) float64 {
	t.Helper()
	start := time.Now()
	cmd := exec.CommandContext(t.Context(), "/bin/bash", "-c", "true")
	cmd.WaitDelay = time.Second
	check(t, cmd.Run())
	return max(1, float64(time.Since(start))/float64(quick))
}

// endOnce returns how long ending the tree took, and how many processes lived on
// that nobody could see. A timeout that came before anything was seen is tried
// again with more time.
func endOnce(t *testing.T, m mode, tree escape, how string) (took time.Duration, left int) {
	t.Helper()
	for timeout := escapeTimeout; ; timeout *= 2 {
		var seen bool
		if took, left, seen = endAfter(t, m, tree, how, timeout); seen || timeout > seenWithin {
			return took, left
		}
	}
}

func endAfter(t *testing.T, m mode, tree escape, how string, timeout time.Duration) (took time.Duration, hiding int, seen bool) {
	t.Helper()
	_, e, _ := open(t, m.options(t))
	arg := unique()
	slow := overload(t)
	cmd := ops.Command{Script: fmt.Sprintf(tree.script, arg), Grace: escapeGrace}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if how == "timeout" {
		cmd.Timeout = timeout
	}
	begun := time.Now()
	var aborted time.Time
	watched := make(chan int, 1)
	go func() {
		most := 0
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for most < tree.count && time.Since(begun) < seenWithin && ctx.Err() == nil {
			<-tick.C
			most = max(most, len(alive(t, arg)))
			if how == "timeout" && time.Since(begun) > 3*cmd.Timeout {
				break
			}
		}
		<-tick.C // what was seen may be about to turn into something else
		<-tick.C
		aborted = time.Now()
		if how == "abort" {
			cancel()
		}
		watched <- most
	}()
	exit, _, err := run(t, ctx, e, cmd)
	end := time.Now()
	left := alive(t, arg)
	for _, pid := range left {
		kill(t, pid)
	}
	if how == "timeout" {
		cancel()
	}
	most := <-watched
	took = end.Sub(begun) - cmd.Timeout
	if how == "abort" {
		took = end.Sub(aborted)
	}
	// A timeout may come before all are there; one that was seen is then enough.
	if most == 0 && how == "timeout" && timeout <= seenWithin {
		if len(left) > hiddenOf(m, tree) {
			t.Errorf("alive afterwards: %v, %+v", left, exit)
		}
		return took, 0, false
	}
	if most == 0 || how == "abort" && most < tree.count {
		t.Errorf("%d of %d processes were seen alive", most, tree.count)
	}
	if slow = max(slow, overload(t)); took > escapeGrace+time.Duration(slow*float64(often(4, 1))*float64(time.Second)) { // the short form runs beside other tests
		t.Errorf("took %v, the machine is slow by %.1f: %+v", took, slow, exit)
	}
	hidden := hiddenOf(m, tree)
	switch {
	case hidden == 0 && len(left) > 0 || len(left) > hidden:
		t.Errorf("alive afterwards: %v, %+v", left, exit)
	case hidden == 0 && m.supervised && exit.Unverified != "":
		t.Errorf("%+v", exit)
	case len(left) > 0 && !mentionsAll(exit.Unverified, left):
		t.Errorf("%v live, and the report does not say so: %+v", left, exit)
	}
	if exit.Killed == 0 || len(exit.Survivors) > 0 {
		t.Errorf("%+v", exit)
	}
	if how == "timeout" && (err != nil || !exit.TimedOut) || how == "abort" && (!errors.Is(err, context.Canceled) || exit.TimedOut) {
		t.Errorf("%+v, %v", exit, err)
	}
	return took, len(left), true
}

// hiddenOf is the number of processes that can't be found.
func hiddenOf(m mode, tree escape) int {
	if m.supervised {
		return 0
	}
	return tree.hidden
}

func mentionsAll(text string, pids []string) bool {
	for _, pid := range pids {
		if !strings.Contains(text, " "+pid+" sleep") {
			return false
		}
	}
	return true
}

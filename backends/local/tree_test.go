//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

func kill(t testing.TB, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 1 {
		t.Fatalf("no process: %q", pid)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// trees are shapes of process trees; each runs sleep with the argument %[1]s at
// least once, and never ends by itself.
func trees() []struct {
	name, script string
	supervised   bool // can't be found otherwise
} {
	return []struct {
		name, script string
		supervised   bool
	}{
		{"child", "sleep %[1]s; :", false},
		{"BASH02 grandchild that ignores TERM", `bash -c 'trap "" TERM; sleep %[1]s; :' & bash -c 'trap "" TERM; while :; do sleep %[1]s; done'`, false},
		{"PROC04 sessions in sessions", "setsid bash -c 'setsid sleep %[1]s & sleep 0.1'; sleep %[1]s; :", false},
		{"double fork", "( (setsid setsid sleep %[1]s &) & ); sleep %[1]s; :", false},
		{"cleared environment", "env -i sleep %[1]s & env -i setsid sleep %[1]s & sleep %[1]s; :", false},
		{"cleared environment, double fork, session", "( (env -i setsid /bin/sh -c 'sleep %[1]s; :' >/dev/null 2>&1 &) & ); sleep 0.1; sleep %[1]s; :", true},
		{"BASH01 pipe holder with timeout", "setsid sleep %[1]s & sleep %[1]s; :", false},
		{"stopped", "sleep %[1]s & kill -STOP $!; sleep %[1]s; :", false},
		{
			"re-spawner",
			`cat >spawn.sh <<'X'
trap 'for i in 1 2 3; do bash spawn.sh $(($1+1)) & done; exit' TERM
[ $1 -gt 3 ] && trap '' TERM
sleep %[1]s & wait; while :; do sleep %[1]s; done
X
bash spawn.sh 0 & bash spawn.sh 2 & wait`,
			false,
		},
	}
}

func TestTreesEndCompletely(t *testing.T) { //nolint:tparallel // its subtests share nothing with other tests but time
	for _, m := range modes() {
		for _, tree := range trees() {
			if tree.supervised && !m.supervised {
				continue
			}
			for _, how := range []string{"timeout", "abort"} {
				t.Run(m.name+" "+tree.name+" "+how, func(t *testing.T) {
					t.Parallel()
					testTree(t, m, tree.script, how)
				})
			}
		}
	}
}

func testTree(t *testing.T, m mode, script, how string) {
	t.Helper()
	_, e, _ := open(t, m.options(t))
	arg := unique()
	cmd := ops.Command{Script: fmt.Sprintf(script, arg), Grace: 300 * time.Millisecond}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if how == "timeout" {
		cmd.Timeout = 700 * time.Millisecond
	}
	seen := make(chan int, 1)
	go func() {
		most := 0
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range 30 {
			<-tick.C
			most = max(most, len(alive(t, arg)))
		}
		if how == "abort" {
			cancel()
		}
		seen <- most
	}()
	start := time.Now()
	exit, _, err := run(t, ctx, e, cmd)
	took := time.Since(start)
	if n := <-seen; n == 0 {
		t.Error("the tree was never seen alive")
	}
	if left := alive(t, arg); len(left) > 0 {
		t.Errorf("alive afterwards: %v", left)
		for _, pid := range left {
			kill(t, pid)
		}
	}
	if took > 6*time.Second {
		t.Errorf("took %v", took)
	}
	if exit.Killed == 0 || len(exit.Survivors) > 0 || exit.Unverified != "" {
		t.Errorf("%+v", exit)
	}
	switch how {
	case "timeout":
		if err != nil || !exit.TimedOut {
			t.Errorf("%+v, %v", exit, err)
		}
	default:
		if !errors.Is(err, context.Canceled) || exit.TimedOut {
			t.Errorf("%+v, %v", exit, err)
		}
	}
}

func TestTermIsHeard(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			_, e, _ := open(t, m.options(t))
			exit, out, err := run(t, t.Context(), e, ops.Command{
				Script: "trap 'echo bye; exit 3' TERM; echo hi; while :; do sleep 0.05; done", Timeout: 300 * time.Millisecond,
			})
			if err != nil || !strings.HasPrefix(out, "hi\n") || !strings.HasSuffix(out, "bye\n") || exit.Code != 3 || !exit.TimedOut {
				t.Errorf("%q, %+v, %v", out, exit, err)
			}
		})
	}
}

func TestPROC05OtherSessionsAreSpared(t *testing.T) {
	_, e, _ := open(t)
	arg := unique()
	other := exec.CommandContext(t.Context(), "sleep", arg)
	other.WaitDelay = time.Second
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t, t.Context(), e, ops.Command{Script: "ps -o pgid= -p $$; sleep 100", Timeout: 200 * time.Millisecond}); err != nil {
		t.Error(err)
	}
	if len(alive(t, arg)) != 1 {
		t.Error("a process of another command was killed")
	}
	_ = other.Process.Kill()
	_ = other.Wait()
}

func TestKilledSupervisorIsNoSuccess(t *testing.T) {
	_, e, _ := open(t, mode{supervised: true}.options(t))
	arg := unique()
	exit, _, err := run(t, t.Context(), e, ops.Command{Script: "sleep " + arg + " & kill -KILL $PPID; sleep " + arg})
	if ops.KindOf(err) != ops.KindNoStatus || exit.Code == 0 {
		t.Errorf("%+v, %v", exit, err)
	}
	if left := alive(t, arg); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
}

// runAndHang is a program that runs a command below a supervisor.
func runAndHang(dir, script string) int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	w, err := Open(context.Background(), Options{Dir: dir, Env: os.Environ(), Supervisor: self, SupervisorArgs: []string{supervisorArg}})
	if err != nil {
		return 1
	}
	_, _ = w.Set().Bash.Exec(context.Background(), ops.Command{Script: script, Dir: dir}, func(ops.Chunk) {})
	select {}
}

func TestPROC01KilledEngineTakesTheTreeAlong(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"running":    "( (env -i setsid sleep %[1]s &) & ); trap '' TERM; while :; do sleep %[1]s; done",
		"background": "env -i setsid sleep %[1]s & sleep 0.05",
	} {
		t.Run(name, func(t *testing.T) {
			arg := unique()
			parent := exec.CommandContext(t.Context(), self, parentArg, t.TempDir(), fmt.Sprintf(script, arg))
			parent.WaitDelay = time.Second
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the command runs", 10*time.Second, func() bool { return len(alive(t, arg)) > 0 })
			if name == "background" {
				eventually(t, "the command ended", 10*time.Second, func() bool {
					return len(alive(t, strings.ReplaceAll(script, "%[1]s", arg))) == 1 // the arguments of the parent
				})
			}
			_ = parent.Process.Kill()
			_ = parent.Wait()
			eventually(t, "nothing lives", 5*time.Second, func() bool { return len(alive(t, arg)) == 0 })
		})
	}
}

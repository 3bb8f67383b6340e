//go:build linux

package local

import (
	"context"
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

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

func supervisedWorkspace(t testing.TB) (*Workspace, engine, string) {
	t.Helper()
	return open(t, mode{supervised: true}.options(t))
}

// parentOf runs a command that tells its parent's number.
func parentOf(t testing.TB, e engine, script string) int {
	t.Helper()
	exit, out, err := run(t, t.Context(), e, ops.Command{Script: script + "\necho $PPID"})
	if err != nil || exit.Code != 0 {
		t.Fatalf("%+v, %v", exit, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestOneSupervisorServesManyCommands(t *testing.T) {
	w, e, dir := supervisedWorkspace(t)
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	first := parentOf(t, e, "")
	// What one command was given must not be there for the next one.
	status := "cd /; grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd; env | grep -c LEFT_BEHIND; cat /proc/$PPID/environ | wc -c; ls /proc/$PPID/fd | wc -l"
	_, want, err := run(t, t.Context(), e, ops.Command{Script: status})
	if err != nil {
		t.Fatal(err)
	}
	long := "LEFT_BEHIND=x; cat <<'X' >/dev/null\n" + strings.Repeat("0123456789abcdef\n", 10<<10) + "X\n:"
	for i, cmd := range []ops.Command{
		{Script: "exit 3", Env: map[string]string{"LEFT_BEHIND": "1"}, Dir: sub},
		{Script: "kill -SEGV $$", Dir: sub},
		{Script: long},
		{Script: "true", Shell: ops.Shell{Path: "/bin/sh"}},
		{Script: "kill -HUP $PPID; kill -TERM $PPID; kill -INT $PPID; kill -USR1 $PPID; kill -PIPE $PPID; kill -ALRM $PPID; :"},
	} {
		if exit, _, err := run(t, t.Context(), e, cmd); err != nil || exit.Background {
			t.Errorf("command %d: %+v, %v", i, exit, err)
		}
		if _, out, err := run(t, t.Context(), e, ops.Command{Script: status}); err != nil || out != want {
			t.Errorf("after command %d: %v\n%s\nwant\n%s", i, err, out, want)
		}
	}
	if again := parentOf(t, e, ""); again != first {
		t.Errorf("supervisor %d, then %d", first, again)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(first, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the supervisor still lives: %v", err)
	}
}

func TestSupervisorWithLeftoversIsNotUsedAgain(t *testing.T) { //nolint:tparallel // its subtests share nothing with other tests but time
	for name, cmd := range map[string]ops.Command{
		"background": {Script: "sleep 1000 >/dev/null 2>&1 & echo $PPID"},
		"kill":       {Script: "sleep 1000 >/dev/null 2>&1 & echo $PPID", Background: ops.BackgroundKill},
		"timeout":    {Script: "echo $PPID; sleep 1000", Timeout: 300 * time.Millisecond, Grace: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, e, _ := supervisedWorkspace(t)
			_, out, err := run(t, t.Context(), e, cmd)
			if err != nil {
				t.Fatal(err)
			}
			if next := strconv.Itoa(parentOf(t, e, "")); next == strings.TrimSpace(out) {
				t.Errorf("supervisor %s serves again", next)
			}
		})
	}
}

func TestSupervisorsThatAreKilledOrStopped(t *testing.T) { //nolint:tparallel // its subtests share nothing with other tests but time
	t.Run("killed while idle", func(t *testing.T) {
		_, e, _ := supervisedWorkspace(t)
		first := parentOf(t, e, "")
		kill(t, strconv.Itoa(first))
		for range 3 { // at once, when its end may not have been noticed yet
			_, out, err := run(t, t.Context(), e, ops.Command{Script: "echo ok"})
			if err == nil && out == "ok\n" {
				return
			}
			if ops.KindOf(err) != ops.KindUnavailable {
				t.Errorf("%q, %v", out, err)
			}
		}
		t.Error("it is not replaced")
	})
	t.Run("killed above what a command left", func(t *testing.T) {
		w, e, _ := supervisedWorkspace(t)
		arg := unique()
		exit, out, err := run(t, t.Context(), e, ops.Command{Script: "sleep " + arg + " >/dev/null 2>&1 & echo $PPID"})
		if err != nil || !exit.Background || len(w.jobs.left) != 1 {
			t.Fatalf("%+v, %v", exit, err)
		}
		p, ok := w.jobs.left[0].process.(*supervisedProcess)
		if !ok {
			t.Fatalf("a %T", w.jobs.left[0].process)
		}
		kill(t, strings.TrimSpace(out))
		<-p.above.gone
		if !p.left() {
			t.Error("what lives counts as ended")
		}
		if err := w.Close(); err != nil || len(alive(t, arg)) > 0 {
			t.Errorf("%v, alive %v", err, alive(t, arg))
		}
	})
	t.Run("stopped while idle, abort", func(t *testing.T) {
		w, e, _ := supervisedWorkspace(t)
		first := parentOf(t, e, "")
		if err := syscall.Kill(first, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		arg := unique()
		_, _, err := run(t, ctx, e, ops.Command{Script: "sleep " + arg + "; :"})
		if !errors.Is(err, context.DeadlineExceeded) || len(alive(t, arg)) > 0 {
			t.Errorf("%v, alive %v", err, alive(t, arg))
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("stopped while idle, close", func(t *testing.T) {
		t.Parallel()
		w, e, _ := supervisedWorkspace(t)
		first := parentOf(t, e, "")
		if err := syscall.Kill(first, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if err := syscall.Kill(first, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("the supervisor still lives: %v", err)
		}
	})
	t.Run("stopped by its command", func(t *testing.T) {
		t.Parallel()
		_, e, _ := supervisedWorkspace(t)
		arg := unique()
		start := time.Now()
		exit, out, err := run(t, t.Context(), e, ops.Command{
			Script: "setsid sleep " + arg + " & echo $PPID; kill -STOP $PPID; sleep " + arg, Timeout: 300 * time.Millisecond, Grace: 100 * time.Millisecond,
		})
		if err != nil || !exit.TimedOut || exit.Unverified == "" || len(alive(t, arg)) > 0 {
			t.Errorf("%+v, %v, alive %v", exit, err, alive(t, arg))
		}
		if took := time.Since(start); took > hung {
			t.Errorf("took %v", took)
		}
		if pid, _ := strconv.Atoi(strings.TrimSpace(out)); !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			t.Errorf("the supervisor %d still lives", pid)
		}
	})
}

func TestProgramsThatAreNoSupervisor(t *testing.T) {
	for _, program := range []string{"/bin/true", "/bin/cat", "/no/such/program"} {
		_, e, _ := open(t, func(o *Options) { o.Supervisor = program })
		if program == "/bin/cat" {
			// It sends everything back, which means nothing, and stays.
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, _, err := run(t, ctx, e, ops.Command{Script: "true"}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", program, err)
			}
			continue
		}
		_, _, err := run(t, t.Context(), e, ops.Command{Script: "true"})
		if ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), program) {
			t.Errorf("%s: %v", program, err)
		}
	}
}

func TestSupervisedCommandsRunTogether(t *testing.T) {
	w, e, _ := supervisedWorkspace(t)
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			for k := range 3 {
				want := fmt.Sprintf("%d %d\n", i, k)
				exit, out, err := run(t, t.Context(), e, ops.Command{Script: "printf '%s\\n' '" + strings.TrimSpace(want) + "'; exit 5"})
				if err != nil || out != want || exit.Code != 5 {
					t.Errorf("%q, %+v, %v", out, exit, err)
				}
			}
		})
	}
	group.Wait()
	if n := len(w.supervisors.idle); n == 0 || n > maxIdle {
		t.Errorf("%d idle supervisors", n)
	}
}

// While as many supervisors are being started as may be, a command waits for one
// that becomes free, and no longer than it wants to.
func TestCommandsWaitForAFreeSupervisor(t *testing.T) {
	w, e, _ := supervisedWorkspace(t)
	for range maxFresh {
		w.supervisors.fresh <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := w.supervisors.take(ctx, w.options); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	free, err := w.supervisors.start(w.options)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { w.supervisors.give(free) })
	exit, out, err := run(t, t.Context(), e, ops.Command{Script: "cat /proc/$PPID/stat"})
	if pid, _, _ := strings.Cut(out, " "); err != nil || exit.Code != 0 || pid != strconv.Itoa(free.process.Pid) {
		t.Errorf("%q below %d, %+v, %v", out, free.process.Pid, exit, err)
	}
	for range maxFresh {
		w.supervisors.settled()
	}
}

// Where no process can be started any more, what earlier commands left is ended.
func TestCrowdedOutByLeftovers(t *testing.T) {
	w, e, _ := supervisedWorkspace(t)
	arg := unique()
	if exit, _, err := run(t, t.Context(), e, ops.Command{Script: "sleep " + arg + " >/dev/null 2>&1 &"}); err != nil || !exit.Background {
		t.Fatalf("%+v, %v", exit, err)
	}
	for i, want := range []string{"was ended; try again", "raise the limit"} {
		err := w.startError(&launch{shell: "/bin/sh"}, &os.PathError{Op: "start", Path: "/bin/sh", Err: syscall.EAGAIN})
		if ops.KindOf(err) != ops.KindUnavailable || !errors.Is(err, syscall.EAGAIN) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", i, err)
		}
		if left := alive(t, arg); len(left) > 0 {
			t.Errorf("%d: alive %v", i, left)
		}
	}
}

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/tools/ops"
)

func TestBASH01SessionsHoldNoTimeoutUp(t *testing.T) { //nolint:tparallel // its subtests share nothing with other tests but time
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			_, e, _ := open(t, m.options(t))
			arg := unique()
			slow := overload(t)
			start := time.Now()
			exit, out, err := run(t, t.Context(), e, ops.Command{
				Script: fmt.Sprintf("setsid sleep %[1]s & (while :; do echo x; sleep 0.1; done) & echo ok; sleep %[1]s", arg), Timeout: time.Second, Grace: 100 * time.Millisecond,
			})
			if took, slow := time.Since(start), max(slow, overload(t)); took > time.Duration(slow*float64(2500*time.Millisecond)) {
				t.Errorf("took %v, the machine is slow by %.1f", took, slow)
			}
			if err != nil || !exit.TimedOut || !strings.Contains(out, "ok\n") || len(alive(t, arg)) > 0 {
				t.Errorf("%q, %+v, %v, alive %v", out, exit, err, alive(t, arg))
			}
		})
	}
}

func TestBASH02PROC01TimeoutsDoNotAccumulate(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			_, e, _ := open(t, m.options(t))
			arg := unique()
			for i := range often(5, 50) {
				exit, _, err := run(t, t.Context(), e, ops.Command{
					Script: fmt.Sprintf("bash -c 'trap \"\" TERM; sleep %[1]s; :' & sleep %[1]s & sleep %[1]s; :", arg), Timeout: 200 * time.Millisecond, Grace: 100 * time.Millisecond,
				})
				if left := alive(t, arg); err != nil || !exit.TimedOut || exit.Killed == 0 || len(left) > 0 {
					t.Fatalf("call %d: %+v, %v, alive %v", i, exit, err, left)
				}
			}
			if left := zombies(t); len(left) > 0 {
				t.Errorf("not reaped: %v", left)
			}
		})
	}
}

// zombies lists the dead children of this process.
func zombies(t testing.TB) (found []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range stats {
		data, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		text := string(data)
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		if len(fields) > 1 && fields[0] == "Z" && fields[1] == strconv.Itoa(os.Getpid()) {
			found = append(found, text)
		}
	}
	return found
}

func TestPROC02KillWorksWithoutTheLeader(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			w, e, _ := open(t, m.options(t))
			arg := unique()
			// The direct child has ended, a grandchild holds the pipe.
			exit, out, err := run(t, t.Context(), e, ops.Command{Script: fmt.Sprintf("( (sleep %s; :) & ); echo ok", arg)})
			if err != nil || out != "ok\n" || !exit.Background {
				t.Errorf("%q, %+v, %v", out, exit, err)
			}
			// A busy machine has not come to its exec yet.
			eventually(t, "the grandchild", time.Minute, func() bool { return len(alive(t, arg)) > 0 })
			start := time.Now()
			if err := w.Close(); err != nil || len(alive(t, arg)) > 0 {
				t.Errorf("%v, alive %v", err, alive(t, arg))
			}
			if took := time.Since(start); took > hung {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestPROC02AbortedSearchEnds(t *testing.T) {
	_, e, dir := open(t)
	for i := range 40 {
		for k := range 50 {
			put(t, filepath.Join(dir, fmt.Sprint(i), fmt.Sprint(k)), strings.Repeat("nothing of interest here\n", 400))
		}
	}
	searches := map[string]func(ctx context.Context) error{
		"grep": func(ctx context.Context) error {
			_, err := e.Search(ctx, ops.SearchRequest{Root: dir, Path: dir, Pattern: "h[a-z]re$"}, func(ops.SearchLine) bool { return true })
			return err
		},
		"find": func(ctx context.Context) error {
			for { // one walk is over before it can be aborted
				if _, err := e.Glob(ctx, ops.GlobRequest{Root: dir, Path: dir, Pattern: "*9"}, func(string) bool { return true }); err != nil {
					return err
				}
			}
		},
	}
	for name, search := range searches {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		start := time.Now()
		err := search(ctx)
		took := time.Since(start)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || took > 20*time.Second {
			t.Errorf("%s: %v after %v", name, err, took)
		}
	}
	// Outside of the workspace nothing is searched at all.
	if _, err := e.Search(t.Context(), ops.SearchRequest{Root: dir, Path: "/", Pattern: "x"}, func(ops.SearchLine) bool { return true }); !errors.Is(err, ops.ErrOutside) {
		t.Errorf("the whole machine: %v", err)
	}
}

func TestPROC03SuccessWithHeldPipeIsSuccess(t *testing.T) { //nolint:tparallel // its subtests share nothing with other tests but time
	for _, m := range modes() {
		for _, script := range []string{
			"sleep %s & echo hi",
			"(trap '' TERM; sleep %s) & echo hi",
			"setsid sh -c 'exec >/proc/self/fd/1; sleep %s' & echo hi",
		} {
			t.Run(m.name+" "+script, func(t *testing.T) {
				t.Parallel()
				_, e, _ := open(t, m.options(t))
				start := time.Now()
				exit, out, err := run(t, t.Context(), e, ops.Command{Script: fmt.Sprintf(script, unique()), Timeout: 20 * time.Second})
				if took := time.Since(start); took > 15*time.Second {
					t.Errorf("took %v", took) // alone it takes a tenth of a second, with the timeout twenty
				}
				if err != nil || out != "hi\n" || exit.Code != 0 || exit.TimedOut || !exit.Background {
					t.Errorf("%q, %+v, %v", out, exit, err)
				}
			})
		}
	}
}

func TestPROC05CommandsHaveGroupAndSessionOfTheirOwn(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			_, e, _ := open(t, m.options(t))
			_, out, err := run(t, t.Context(), e, ops.Command{Script: "echo $$; cut -d' ' -f5,6 /proc/$$/stat; cut -d' ' -f5,6 /proc/$PPID/stat"})
			lines := strings.Fields(out)
			if err != nil || len(lines) != 5 {
				t.Fatalf("%q, %v", out, err)
			}
			own, err := unix.Getsid(0)
			if err != nil {
				t.Fatal(err)
			}
			if lines[1] != lines[0] || lines[2] != lines[0] || lines[1] == strconv.Itoa(unix.Getpgrp()) || lines[2] == strconv.Itoa(own) {
				t.Errorf("process %s has group %s and session %s", lines[0], lines[1], lines[2])
			}
			if m.supervised && (lines[3] == strconv.Itoa(unix.Getpgrp()) || lines[4] == strconv.Itoa(own) || lines[4] == lines[0]) {
				t.Errorf("the supervisor has group %s and session %s", lines[3], lines[4])
			}
			// What a command does to its group does not reach the engine.
			exit, _, err := run(t, t.Context(), e, ops.Command{Script: "kill -KILL 0"})
			if err != nil || exit.Signal != "KILL" {
				t.Errorf("%+v, %v", exit, err)
			}
			if err := syscall.Kill(os.Getpid(), 0); err != nil {
				t.Error(err)
			}
		})
	}
}

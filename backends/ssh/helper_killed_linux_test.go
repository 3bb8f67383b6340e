package ssh

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/tools/ops"
)

// parent returns the parent of a process; 0 if it has ended.
func parent(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name before may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	ppid, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return ppid
}

// word is the first argument of a process of the helper; empty if it is another.
func (l *linked) word(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || filepath.Dir(exe) != l.cache {
		return ""
	}
	args := strings.Split(string(line), "\x00")
	if len(args) < 2 {
		return ""
	}
	return args[1]
}

// above returns the process of the helper with the given word that a process
// descends from.
func (l *linked) above(t *testing.T, pid int, word string) int {
	t.Helper()
	for p := pid; p > 1; p = parent(p) {
		if l.word(p) == word {
			return p
		}
	}
	t.Fatalf("process %d has no %s above", pid, word)
	return 0
}

// processes lists those of the helper with the given word.
func (l *linked) processes(t *testing.T, word string) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	for _, d := range dirs {
		pid, err := strconv.Atoi(filepath.Base(d))
		must(t, err)
		if l.word(pid) == word {
			pids = append(pids, pid)
		}
	}
	return pids
}

func kill(t *testing.T, pid int) {
	t.Helper()
	must(t, syscall.Kill(pid, syscall.SIGKILL))
}

// Nothing that a command started outlives the helper or the supervisor when these
// are killed, nor they each other, with a lease or without (hazard PROC-04). The
// limit is that of the specification, and some of a busy machine.
func TestPROC04NothingOutlivesAKilledHelper(t *testing.T) {
	const soon = 2*time.Second + 3*time.Second
	for _, c := range []struct {
		victim string
		lease  time.Duration
	}{
		{helper.Serve, 0},
		{helper.Supervise, 0},
		{helper.Reside, time.Minute},
		{helper.Supervise, time.Minute},
	} {
		t.Run(fmt.Sprint(c.victim, " ", c.lease), func(t *testing.T) {
			l := openLinked(t, func(o *Options) { o.Lease = c.lease })
			pids, ended := l.running(t)
			victim := l.above(t, pids[1], c.victim)
			pids = append(pids, l.above(t, pids[1], helper.Supervise))
			kill(t, victim)
			eventually(t, "the end of the tree", soon, func() bool { return living(pids) == 0 })
			if err := <-ended; err == nil {
				t.Error("the command succeeded")
			} else {
				t.Log(err)
			}
			// The workspace goes on.
			if out, exit, err := l.run(t.Context(), "echo again"); err != nil || exit.Code != 0 || out != "again\n" {
				t.Errorf("afterwards: %q, %+v, %v", out, exit, err)
			}
		})
	}
}

// shot kills the processes of the helper with the given word at a random moment
// within the time given. What it returns calls that off, and says how many helpers
// it has killed.
func (l *linked) shot(t *testing.T, random *rand.Rand, within time.Duration, word string) (stop func() int) {
	t.Helper()
	victims := l.processes(t, word)
	timer := time.AfterFunc(time.Duration(random.Int64N(int64(within))), func() {
		for _, p := range victims {
			_ = syscall.Kill(p, syscall.SIGKILL) // it may have ended
		}
	})
	return func() int { timer.Stop(); return len(victims) - living(victims) }
}

// A helper that is killed at any moment of a write leaves no temporary file, and the
// write is made once all the same (hazards WRIT-06, MUTQ-06).
func TestWRIT06HelperKilledWithinAWrite(t *testing.T) {
	const seed = 4
	random := rand.New(rand.NewPCG(seed, seed))
	for word, lease := range map[string]time.Duration{helper.Serve: 0, helper.Reside: time.Minute} {
		l := openLinked(t, func(o *Options) { o.Lease = lease })
		path := l.put(t, "f", "old", 0o644)
		killed, took := 0, time.Duration(0) // of the fastest write
		for i := range often(8, 50) {
			content := strings.Repeat(fmt.Sprintf("%09d\n", i), 4<<20/10)
			stop := func() int { return 0 }
			if i > 0 { // the first one is timed
				stop = l.shot(t, random, took*2/3, word)
			}
			begin := time.Now()
			_, err := l.Set().Write.WriteFile(t.Context(), path, []byte(content))
			killed += stop()
			if d := time.Since(begin); i == 0 || d < took {
				took = d
			}
			if got := string(must2(t, path)); err != nil || got != content {
				t.Fatalf("write %d with lease %v: %v, %d bytes", i, lease, err, len(got))
			}
		}
		t.Logf("%d helpers were killed", killed)
		if killed < often(1, 15) {
			t.Error("too few of them")
		}
		if left, _ := filepath.Glob(filepath.Join(l.dir, ".piremote-*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

// An edit whose helper is killed at any moment was made once, or not at all, as the
// result says; where nobody can know, it says so (hazard MUTQ-06).
func TestMUTQ06HelperKilledWithinAnEdit(t *testing.T) {
	l := openLinked(t, nil)
	const seed = 6
	random := rand.New(rand.NewPCG(seed, seed))
	path := l.put(t, "f", "", 0o644)
	filler := strings.Repeat("filler\n", 20_000)
	count, unknown := 0, 0
	text := func(n int) string { return fmt.Sprintf("count: %d.\n", n) }
	must(t, os.WriteFile(path, []byte(text(0)+filler), 0o644))
	for i := range often(6, 100) {
		editor, ok := l.Set().Edit.(ops.Editor)
		if !ok {
			t.Fatal("no editor")
		}
		stop := l.shot(t, random, 12*time.Millisecond, helper.Serve)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := editor.EditFile(ctx, path, ops.EditRequest{Name: "f", Edits: []ops.Replacement{{Old: text(count), New: text(count + 1)}}})
		cancel()
		stop()
		got := string(must2(t, path))
		switch {
		case err == nil && got == text(count+1)+filler:
			count++
		case ops.KindOf(err) == ops.KindOutcomeUnknown && got == text(count+1)+filler:
			count++
			unknown++
		case ops.KindOf(err) == ops.KindOutcomeUnknown && got == text(count)+filler:
			unknown++
		default:
			t.Fatalf("edit %d: %v, the file begins with %q", i, err, got[:min(20, len(got))])
		}
	}
	t.Logf("%d edits were made, %d with an unknown end", count, unknown)
}

package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/tools/ops"
)

// The link breaks, by a reset or silently, at seeded points of a write, an edit and
// a read: the call returns the true result, the file has it, and each change was
// made once (hazards SSHC-07, MUTQ-06).
func TestSSHC07ChangesOverALinkThatBreaks(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]time.Duration{"no lease": 0, "lease": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLinked(t, func(o *Options) { lively(o); o.Lease = lease })
			const seed = 20
			random := rand.New(rand.NewPCG(seed, uint64(lease)))
			calls := &changes{linked: l, file: l.put(t, "f", "count: 0\n", 0o644)}
			l.proxy.ResetCounts()
			for kind := range 3 {
				calls.step(t, "uncut", kind)
			}
			uncut := l.proxy.Counts()
			broken := 0
			for i := 0; i < often(12, 100) || broken < often(9, 75); i++ {
				if i == often(60, 300) {
					t.Fatalf("only %d links broke within a call", broken)
				}
				d := faultproxy.Direction(random.IntN(2))
				at := random.Int64N([]int64{uncut.Up, uncut.Down}[d])
				what := fmt.Sprintf("point %d: direction %d, after %d bytes", i, d, at)
				links := l.proxy.Counts().Connections
				if i%2 == 0 {
					l.proxy.CutAfter(d, at)
				} else {
					l.proxy.StallAfter(d, at)
				}
				for kind := range 3 {
					calls.step(t, what, kind)
				}
				l.proxy.CutAfter(d, -1)
				l.proxy.StallAfter(d, -1)
				if l.proxy.Counts().Connections > links {
					broken++
				}
			}
			if n := l.made(t); n != calls.made {
				t.Errorf("%d changes were made, want %d", n, calls.made)
			}
		})
	}
}

// changes are calls one after the other on a file that counts.
type changes struct {
	*linked

	file  string
	count int
	made  int
}

func (c *changes) text() string { return fmt.Sprintf("count: %d\n", c.count) }

// step makes a write, an edit or a read and checks the result.
func (c *changes) step(t *testing.T, what string, kind int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var err error
	switch kind {
	case 0:
		c.count += 10
		c.made++
		_, err = c.Set().Write.WriteFile(ctx, c.file, []byte(c.text()))
	case 1:
		old := c.text()
		c.count++
		c.made++
		editor, ok := c.Set().Edit.(ops.Editor)
		if !ok {
			t.Fatal("no editor")
		}
		_, err = editor.EditFile(ctx, c.file, ops.EditRequest{Name: "f", Edits: []ops.Replacement{{Old: old, New: c.text()}}})
	default:
		var got []byte
		if got, err = c.Set().Read.ReadFile(ctx, c.file, 0); err == nil && string(got) != c.text() {
			t.Errorf("%s: read %q, want %q", what, got, c.text())
		}
	}
	if err != nil {
		t.Errorf("%s: call %d: %v", what, kind, err)
	}
	if got := string(must2(t, c.file)); got != c.text() {
		t.Fatalf("%s: call %d: the file has %q, want %q", what, kind, got, c.text())
	}
}

// counter prints a counter and ends with status 7.
const (
	counter = "i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo $i; [ $((i % 20)) -ne 0 ] || sleep 0.02; done; exit 7"
	counted = 400
)

func wholeCount() string {
	var b strings.Builder
	for i := range counted {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

// A command goes on while the link is broken, once or twice, and its output arrives
// whole and in order, with its exit status (hazard SSHX-08).
func TestSSHX08CommandOutlivesItsLink(t *testing.T) {
	l := openLinked(t, func(o *Options) { lively(o); o.Lease = time.Minute })
	random := rand.New(rand.NewPCG(8, 0))
	for i := range often(4, 20) {
		first := 1 + random.IntN(counted/2)
		second := first + 1 + random.IntN(counted/3)
		if i%2 == 0 {
			second = counted * 2 // never
		}
		links := l.proxy.Counts().Connections
		var out bytes.Buffer
		lines, cut := 0, 0
		exit, err := l.Set().Bash.Exec(t.Context(), ops.Command{Script: counter, Dir: l.dir}, func(c ops.Chunk) {
			if c.Dropped > 0 {
				t.Errorf("%d bytes were dropped", c.Dropped)
			}
			out.Write(c.Data)
			lines += bytes.Count(c.Data, []byte("\n"))
			if cut == 0 && lines >= first || cut == 1 && lines >= second {
				cut++
				if i%4 < 2 {
					l.proxy.Reset()
				} else {
					l.proxy.StallAfter(faultproxy.Down, 0)
				}
			}
		})
		l.proxy.StallAfter(faultproxy.Down, -1)
		if err != nil || exit.Code != 7 || out.String() != wholeCount() {
			t.Fatalf("cut %d times, at %d and %d: %+v, %v, output of %d lines", cut, first, second, exit, err, lines)
		}
		if cut == 0 || l.proxy.Counts().Connections == links {
			t.Errorf("the link was not broken: %d, %d", first, second)
		}
	}
}

// A command whose request is lost on the way runs once (hazard SSHX-08).
func TestSSHX08CommandWhoseRequestIsLost(t *testing.T) {
	l := openLinked(t, func(o *Options) { o.Lease = time.Minute })
	random := rand.New(rand.NewPCG(9, 0))
	for i := range often(6, 50) {
		links := l.proxy.Counts().Connections
		d := faultproxy.Direction(i % 2)
		l.proxy.CutAfter(d, random.Int64N(150))
		out, exit, err := l.run(t.Context(), "echo ran | tee -a ran; exit 5")
		l.proxy.CutAfter(d, -1)
		if err != nil || exit.Code != 5 || out != "ran\n" {
			t.Fatalf("command %d: %q, %+v, %v", i, out, exit, err)
		}
		if l.proxy.Counts().Connections == links {
			t.Errorf("command %d: the link was not cut", i)
		}
		if got := string(must2(t, filepath.Join(l.dir, "ran"))); got != strings.Repeat("ran\n", i+1) {
			t.Fatalf("command %d: it ran so often: %q", i, got)
		}
	}
}

// A command that ends while the link is broken has its true end all the same.
func TestSSHX08CommandEndsWhileTheLinkIsBroken(t *testing.T) {
	l := openLinked(t, func(o *Options) { o.Lease = time.Minute })
	script := "echo before; while [ ! -e go ]; do sleep 0.01; done; echo after; touch gone; exit 9"
	var out strings.Builder
	exit, err := l.Set().Bash.Exec(t.Context(), ops.Command{Script: script, Dir: l.dir}, func(c ops.Chunk) {
		if out.Write(c.Data); out.Len() > len("before\n") {
			return
		}
		l.proxy.BlackHole(true)
		l.put(t, "go", "", 0o644)
		eventually(t, "the end of the command", 20*time.Second, func() bool {
			_, err := os.Stat(filepath.Join(l.dir, "gone"))
			return err == nil
		})
		l.proxy.Reset()
		l.proxy.BlackHole(false)
	})
	if err != nil || exit.Code != 9 || out.String() != "before\nafter\n" {
		t.Errorf("%+v, %v, %q", exit, err, out.String())
	}
}

// tree is a command whose processes would outlive a careless end: it prints the
// number of each of them once all are there.
const tree = "sleep 601 & a=$!; (setsid sleep 602 & echo $! >escaped; wait) & sleep 603 & b=$!; while [ ! -s escaped ]; do sleep 0.01; done; echo $$ $a $b $(cat escaped); wait"

// running starts the tree, breaks off when it has printed its processes, and returns
// them, seen alive, with what is to be the end of the call.
func (l *linked) running(t *testing.T) (pids []int, ended chan error) {
	t.Helper()
	told, ended := make(chan string, 1), make(chan error, 1)
	ctx := t.Context()
	go func() {
		_, err := l.Set().Bash.Exec(ctx, ops.Command{Script: tree, Dir: l.dir}, func(c ops.Chunk) { told <- string(c.Data) }) //nolint:contextcheck // At has a time of its own
		ended <- err
	}()
	select {
	case text := <-told:
		for _, f := range strings.Fields(text) {
			pid, err := strconv.Atoi(f)
			must(t, err)
			if !alive(pid) {
				t.Fatalf("process %d of %q does not run", pid, text)
			}
			pids = append(pids, pid)
		}
	case err := <-ended:
		t.Fatalf("the tree has ended: %v", err)
	}
	if len(pids) != 4 {
		t.Fatalf("%d processes", len(pids))
	}
	return pids, ended
}

// alive reports whether a process runs.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return !errors.Is(err, fs.ErrNotExist) && err == nil && !strings.Contains(string(stat), ") Z ")
}

func living(pids []int) (n int) {
	for _, p := range pids {
		if alive(p) {
			n++
		}
	}
	return n
}

// Without a lease a command ends with its link, in whatever way that breaks, and
// everything that it started; with one it lives as long as the lease (hazard
// PROC-04). The limit is that of the specification, and some of a busy machine.
func TestPROC04TreeEndsWithTheLinkOrItsLease(t *testing.T) {
	const soon = 2*time.Second + 3*time.Second
	// The link stays broken: nobody comes back.
	reset := func(l *linked) { l.proxy.Refuse(true); l.proxy.Reset() }
	t.Run("reset", func(t *testing.T) {
		l := openLinked(t, func(o *Options) { o.Keepalive, o.KeepaliveCount = time.Second, 1 })
		pids, ended := l.running(t)
		reset(l)
		eventually(t, "the end of the tree", soon, func() bool { return living(pids) == 0 })
		l.proxy.Refuse(false)
		wantKind(t, "the call", <-ended, ops.KindOutcomeUnknown)
	})
	t.Run("silence", func(t *testing.T) {
		l := openLinked(t, lively)
		pids, ended := l.running(t)
		l.proxy.Refuse(true)
		l.proxy.BlackHole(true)
		eventually(t, "the end of the tree", soon+time.Second, func() bool { return living(pids) == 0 })
		l.proxy.Reset()
		l.proxy.BlackHole(false)
		l.proxy.Refuse(false)
		wantKind(t, "the call", <-ended, ops.KindOutcomeUnknown)
	})
	t.Run("lease", func(t *testing.T) {
		l := openLinked(t, func(o *Options) { o.Lease = 2 * time.Second })
		pids, ended := l.running(t)
		begin := time.Now()
		reset(l)
		eventually(t, "the end of the tree", 2*time.Second+soon, func() bool {
			n := living(pids)
			if n < len(pids) && time.Since(begin) < 2*time.Second {
				t.Fatalf("%d of %d processes live %v into the lease", n, len(pids), time.Since(begin))
			}
			return n == 0
		})
		l.proxy.Refuse(false)
		wantKind(t, "the call", <-ended, ops.KindOutcomeUnknown)
	})
}

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/tools/ops"
)

const namedTemps, unnamedTemps = "named", "unnamed"

const killedSize = 1 << 20

// writeForever is a program that replaces the file f of a folder again and again.
func writeForever(dir string, withNames bool) int {
	w, err := Open(context.Background(), Options{Dir: dir})
	if err != nil {
		return 1
	}
	if withNames {
		named(w)
	}
	p := filepath.Join(w.main.dir, "f")
	for {
		for _, b := range []string{"a", "b"} {
			if _, err := w.Set().Write.WriteFile(context.Background(), p, bytes.Repeat([]byte(b), killedSize)); err != nil {
				return 1
			}
		}
	}
}

// TestWRIT02WRIT06KilledWriter kills a writer at a random moment: the file holds
// the old or the new bytes, and what it left goes with the next write of another
// workspace.
func TestWRIT02WRIT06KilledWriter(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	left, temps := 0, often(20, 500)
	for _, kind := range []string{namedTemps, unnamedTemps} {
		dir := t.TempDir()
		p := filepath.Join(dir, "f")
		put(t, p, strings.Repeat("a", killedSize))
		check := func() {
			t.Helper()
			data, err := os.ReadFile(p)
			if err != nil || len(data) != killedSize || bytes.Count(data, data[:1]) != len(data) {
				t.Fatalf("%s: %d bytes, %v", kind, len(data), err)
			}
		}
		for range temps / 2 {
			cmd := exec.CommandContext(t.Context(), self, writerArg, dir, kind)
			cmd.WaitDelay = time.Second
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			first := stat(t, p).Ino
			eventually(t, "it writes", 20*time.Second, func() bool { return stat(t, p).Ino != first })
			moment := time.NewTimer(time.Duration(random.IntN(20_000)) * time.Microsecond)
			for waiting := true; waiting; {
				select {
				case <-moment.C:
					waiting = false
				default:
					check() // a reader never sees half a file
				}
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			check()
			left += countTemps(t, dir)
			w, err := Open(t.Context(), Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Set().Write.WriteFile(t.Context(), filepath.Join(w.main.dir, "other"), nil); err != nil {
				t.Error(err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			noTemp(t, dir)
			if t.Failed() {
				return
			}
		}
	}
	t.Logf("%d writers were killed, and left %d temporary files", temps, left)
	if left == 0 && soak() {
		t.Error("none was killed while it had a temporary file")
	}
}

func countTemps(t testing.TB, dir string) (n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if isTemp(entry.Name()) {
			n++
		}
	}
	return n
}

func TestWRIT06OnlyWhatADeadWriterLeftIsRemoved(t *testing.T) {
	w, e, dir := open(t)
	self := w.names.self
	gone := exec.CommandContext(t.Context(), "true")
	gone.WaitDelay = time.Second
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	dead := self
	dead.pid = gone.Process.Pid
	recycled := self
	recycled.start++ // this very process number, but of an earlier process
	elsewhere := dead
	elsewhere.machine++
	old := time.Now().Add(-2 * staleAge)

	files := map[string]struct {
		removed bool
		prepare func(path string)
	}{
		tempName(dead, 1):                    {true, nil},
		tempName(recycled, 2):                {true, nil},
		tempName(self, 3):                    {false, nil}, // a live writer
		tempName(elsewhere, 4):               {false, nil}, // perhaps one
		tempName(elsewhere, 5):               {true, func(p string) { check(t, os.Chtimes(p, old, old)) }},
		tempName(self, 6):                    {true, func(p string) { check(t, os.Chtimes(p, old, old)) }},
		tempName(dead, 7):                    {false, func(p string) { lock(t, p) }},
		tempName(elsewhere, 8):               {false, func(p string) { check(t, os.Chtimes(p, old, old)); lock(t, p) }},
		tempName(dead, 9):                    {false, func(p string) { check(t, os.Remove(p)); check(t, os.Mkdir(p, 0o700)) }},
		tempName(dead, 10):                   {false, func(p string) { check(t, os.Remove(p)); check(t, os.Symlink("precious", p)) }},
		tempName(dead, 11):                   {false, func(p string) { check(t, os.Remove(p)); check(t, unix.Mkfifo(p, 0o600)) }},
		tempName(dead, 12):                   {false, func(p string) { check(t, os.Link(p, p+".kept")) }},
		"precious":                           {false, nil},
		".piremote-0123456789ABCDEF.tmp":     {false, nil},
		".piremote-0123456789abcdef.tmp.bak": {false, nil},
		".piremote-0123456789abcde.tmp":      {false, nil},
		".other-0123456789abcdef.tmp":        {false, nil},
	}
	for name, f := range files {
		p := filepath.Join(dir, name)
		put(t, p, "x")
		check(t, os.Chtimes(p, time.Now(), time.Now()))
		if f.prepare != nil {
			f.prepare(p)
		}
	}
	if _, err := e.WriteFile(t.Context(), filepath.Join(dir, "new"), nil); err != nil {
		t.Fatal(err)
	}
	for name, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, os.ErrNotExist) != f.removed {
			t.Errorf("%s (%+v): removed %v, want %v", name, told(name), err != nil, f.removed)
		}
	}
	// What stays is in no listing.
	if err := e.ReadDir(t.Context(), dir, func(entry os.DirEntry) bool {
		if isTemp(entry.Name()) {
			t.Errorf("%s is listed", entry.Name())
		}
		return true
	}); err != nil {
		t.Error(err)
	}
}

func told(name string) writer {
	if !isTemp(name) {
		return writer{}
	}
	return writerOf(name)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lock holds a file as a writer does, until the test ends.
func lock(t testing.TB, path string) {
	t.Helper()
	f, err := os.Open(path)
	check(t, err)
	t.Cleanup(func() { _ = f.Close() })
	check(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
}

func TestWRIT06WhereItIsSwept(t *testing.T) {
	w, e, dir := open(t)
	dead := w.names.self
	dead.start++
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	for _, d := range []string{"", "a", "b"} {
		put(t, at(d, tempName(dead, 1)), "x")
	}
	gone := func(d string) bool {
		_, err := os.Lstat(at(d, tempName(dead, 1)))
		return err != nil
	}
	if gone("") {
		t.Error("reading or opening removes")
	}
	if _, err := e.WriteFile(t.Context(), at("a", "f"), nil); err != nil {
		t.Fatal(err)
	}
	if !gone("") || !gone("a") || gone("b") {
		t.Errorf("working folder %v, written folder %v, other folder %v", gone(""), gone("a"), gone("b"))
	}
	// Once is enough: the next write to the folder doesn't look again.
	put(t, at("a", tempName(dead, 1)), "x")
	if _, err := e.WriteFile(t.Context(), at("a", "f"), nil); err != nil || gone("a") {
		t.Errorf("%v, looked again: %v", err, gone("a"))
	}
}

func TestWRIT06NamesTellTheWriter(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range []writer{{}, {1, 2, 3}, {65535, 1<<pidBits - 1, 65535}, {0, 4194303, 0}, {65535, 0, 0}} {
		for _, count := range []uint32{0, 1, 1<<countBits - 1} {
			name := tempName(w, count)
			if !isTemp(name) || writerOf(name) != w || seen[name] {
				t.Errorf("%+v, %d: %s is of %+v", w, count, name, writerOf(name))
			}
			seen[name] = true
		}
	}
	self := thisWriter()
	if self.machine == 0 || self.dead(self) {
		t.Errorf("%+v", self)
	}
	if init := (writer{self.machine, 1, 0}); init.dead(self) {
		t.Error("process 1 is dead")
	}
}

func TestWRIT06SweepIsBounded(t *testing.T) {
	w, e, dir := open(t)
	dead := w.names.self
	dead.start++
	for i := range sweepEntries + 2*dirBatch {
		put(t, filepath.Join(dir, fmt.Sprintf("n%d", i)), "")
	}
	start := time.Now()
	if _, err := e.WriteFile(t.Context(), filepath.Join(dir, "f"), nil); err != nil {
		t.Fatal(err)
	}
	first := time.Since(start)
	start = time.Now()
	if _, err := e.WriteFile(t.Context(), filepath.Join(dir, "f"), nil); err != nil {
		t.Fatal(err)
	}
	t.Logf("first write %v, second %v", first, time.Since(start))
	if first > 3*time.Second {
		t.Errorf("the first write took %v", first)
	}
}

// TestWRIT02AbortedWriteKeepsOldOrNewBytes cancels writes at random moments
// while a reader looks.
func TestWRIT02AbortedWriteKeepsOldOrNewBytes(t *testing.T) {
	_, e, dir := open(t)
	p := filepath.Join(dir, "f")
	old := bytes.Repeat([]byte("o"), 4<<20)
	put(t, p, string(old))
	cancelled := 0
	for i := range often(20, 300) {
		data := bytes.Repeat([]byte{byte('a' + i%20)}, len(old))
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(6_000))*time.Microsecond)
		r, err := e.WriteFile(ctx, p, data)
		cancel()
		got, rerr := os.ReadFile(p)
		switch {
		case rerr != nil:
			t.Fatal(rerr)
		case err == nil:
			if old = data; r.Path != p {
				t.Errorf("%+v", r)
			}
		case errors.Is(err, context.DeadlineExceeded):
			cancelled++
		default:
			t.Errorf("%v", err)
		}
		if !bytes.Equal(got, old) {
			t.Fatalf("write %d (%v): neither old nor new bytes", i, err)
		}
		noTemp(t, dir)
	}
	t.Logf("%d were cut short", cancelled)
	if cancelled == 0 {
		t.Error("none was cut short")
	}
	if _, err := e.WriteFile(t.Context(), p, nil); ops.KindOf(err) != "" || err != nil {
		t.Error(err)
	}
}

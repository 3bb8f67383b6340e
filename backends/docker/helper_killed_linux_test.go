package docker

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

// temps lists the temporary files of writers in the workspace.
func (h *helped) temps(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(h.dir, ".piremote-*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// plant makes a temporary file as a writer leaves it that was killed within a
// container: the process numbers there were others.
func (h *helped) plant(t *testing.T, n int, age time.Duration) string {
	t.Helper()
	file := filepath.Join(h.dir, fmt.Sprintf(".piremote-%016x.tmp", n))
	if err := os.WriteFile(file, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.age(t, file, age)
	return file
}

func (h *helped) age(t *testing.T, file string, age time.Duration) {
	t.Helper()
	then := time.Now().Add(-age)
	if err := os.Chtimes(file, then, then); err != nil {
		t.Fatal(err)
	}
}

// reopened opens the workspace once more, writes a file, and returns the names that
// are listed.
func (h *helped) reopened(t *testing.T, o Options) string {
	t.Helper()
	w, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }() // what it did is looked at
	set := w.Set()
	if _, err := set.Write.WriteFile(t.Context(), "/ws/other", nil); err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := set.Ls.ReadDir(t.Context(), "/ws", func(e os.DirEntry) bool { names = append(names, e.Name()); return true }); err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

// killHelpers kills the helpers that serve in the container.
func (h *helped) killHelpers(t *testing.T) {
	here, err := os.Stat(h.dir)
	if err != nil {
		t.Error(err)
		return
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Error(err)
	}
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !strings.Contains(string(line), "\x00"+helper.Serve+"\x00") {
			continue
		}
		there, err := os.Stat(filepath.Join(dir, "root", "ws"))
		if pid, perr := strconv.Atoi(filepath.Base(dir)); perr == nil && err == nil && os.SameFile(here, there) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

// A container that is killed at any moment of a write leaves the old or the new
// content, as far as the result says which. What its writer left is in no listing,
// and goes at the next start, once it is too old to be of a writer elsewhere that
// lives (hazards WRIT-06, DKX-07).
func TestWRIT06ContainerKilledWithinAWrite(t *testing.T) {
	t.Parallel()
	var o Options
	h := openHelped(t, func(options *Options) { o = *options })
	const size = 2 << 20
	text := func(i int) string { return strings.Repeat(fmt.Sprintf("%07d\n", i), size/8) }
	const seed = 5
	random := rand.New(rand.NewPCG(seed, seed))
	took, killed, left, last := time.Duration(0), 0, 0, 0 // last is what the file has
	for i := range often(5, 40) {
		type result struct {
			err  error
			took time.Duration
		}
		done := make(chan result, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		go func() {
			begin := time.Now()
			_, err := h.Write.WriteFile(ctx, "/ws/f", []byte(text(i)))
			done <- result{err, time.Since(begin)}
		}()
		if i > 0 { // the first one is timed
			<-time.After(time.Duration(random.Int64N(int64(took))))
			h.dockerd.Kill(t, h.container)
			killed++
			left += len(h.temps(t))
			h.dockerd.Start(t, h.container)
		}
		r := <-done
		cancel()
		if i == 0 {
			took = r.took
		}
		if r.err != nil {
			t.Log(i, ": ", r.err)
		}
		got := h.get(t, "f")
		switch {
		case got == text(i) && (r.err == nil || ops.KindOf(r.err) != ""):
			last = i
		case got == text(last) && ops.KindOf(r.err) != "":
		default:
			t.Fatalf("write %d: %v; the file has %d bytes and begins with %q", i, r.err, len(got), got[:min(len(got), 8)])
		}
	}
	t.Logf("%d containers were killed, and left %d temporary files; a write took %v", killed, left, took)
	young, old := h.plant(t, 1, 0), h.plant(t, 2, 2*time.Hour)
	if names := h.reopened(t, o); names != "f other" {
		t.Errorf("listed: %q", names)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the file of a writer that may live is gone: %v", err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the file of a writer of long ago is still there: %v", err)
	}
	for _, file := range h.temps(t) {
		h.age(t, file, 2*time.Hour)
	}
	h.reopened(t, o)
	if list := h.temps(t); len(list) > 0 {
		t.Errorf("left behind: %q", list)
	}
}

// A helper that is killed in a container that goes on leaves nothing: the write is
// made once all the same, and what its writer left goes at once, since nobody has its
// process number any more (hazard WRIT-06).
func TestWRIT06HelperKilledInItsContainer(t *testing.T) {
	t.Parallel()
	h := openHelped(t, nil)
	const seed = 6
	random := rand.New(rand.NewPCG(seed, seed))
	took, killed := time.Minute, 0
	for i := range often(5, 40) {
		content := strings.Repeat(fmt.Sprintf("%07d\n", i), 2<<20/8)
		shot := make(chan struct{})
		wait := time.Hour // the first one is timed
		if i > 0 {
			wait = time.Duration(random.Int64N(int64(took)))
		}
		timer := time.AfterFunc(wait, func() {
			defer close(shot)
			h.killHelpers(t)
		})
		begin := time.Now()
		_, err := h.Write.WriteFile(t.Context(), "/ws/f", []byte(content))
		if !timer.Stop() {
			<-shot
			killed++
		}
		took = min(took, time.Since(begin))
		if got := h.get(t, "f"); err != nil || got != content {
			t.Fatalf("write %d: %v, the file has %d bytes", i, err, len(got))
		}
	}
	if t.Logf("%d helpers were killed", killed); killed == 0 {
		t.Error("too few of them")
	}
	if list := h.temps(t); len(list) > 0 {
		t.Errorf("left behind: %q", list)
	}
}

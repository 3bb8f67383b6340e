package client_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// cutter is a stream that breaks after so many bytes in one direction.
type cutter struct {
	io.ReadWriteCloser

	mu       sync.Mutex
	up, down int // bytes until the cut; negative: never
	ups      int // bytes that went up since arm
	downs    int
}

func (c *cutter) arm(up, down int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up, c.down, c.ups, c.downs = up, down, 0, 0
}

func (c *cutter) counts() (ups, downs int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ups, c.downs
}

// pass takes n bytes from a budget and returns how many may pass.
func pass(budget, count *int, n int) int {
	*count += n
	if *budget < 0 {
		return n
	}
	n = min(n, *budget)
	*budget -= n
	return n
}

var errCut = errors.New("cut")

func (c *cutter) Write(b []byte) (int, error) {
	c.mu.Lock()
	n := pass(&c.up, &c.ups, len(b))
	c.mu.Unlock()
	written, err := c.ReadWriteCloser.Write(b[:n])
	if err == nil && n < len(b) {
		_ = c.Close()
		err = errCut
	}
	return written, err
}

func (c *cutter) Read(b []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(b)
	c.mu.Lock()
	m := pass(&c.down, &c.downs, n)
	c.mu.Unlock()
	if err == nil && m < n {
		_ = c.Close()
		err = errCut
	}
	return m, err
}

// cutting opens a workspace whose first connection can be cut.
func cutting(t *testing.T, cache string) (*client.Workspace, *cutter, string) {
	t.Helper()
	dir := t.TempDir()
	dial := helper(t, cache)
	var first *cutter
	w, err := client.Open(t.Context(), client.Options{Label: "helper:", Dir: dir, Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		s, err := dial(ctx)
		if first == nil && err == nil {
			first = &cutter{ReadWriteCloser: s, up: -1, down: -1}
			return first, nil
		}
		return s, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w, first, dir
}

// endings counts how often the session's journals say that a change has ended
// without error.
func endings(t *testing.T, cache string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cache, "sessions", "*", "journal"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for len(b) >= 4 {
			size := int(binary.LittleEndian.Uint32(b))
			var r wire.Record
			if err := wire.Decode(b[4:4+size], &r); err != nil {
				t.Fatal(err)
			}
			if r.Ended && r.Failure == nil {
				n++
			}
			b = b[4+size:]
		}
	}
	return n
}

// The link is cut at every byte of every frame of a change, in each direction: the
// call returns the true result, and the change was made exactly once (hazards
// SSHC-07, MUTQ-06).
func TestChangeIsMadeOnceWhereverTheLinkIsCut(t *testing.T) {
	changes := map[string]func(context.Context, ops.Set, string) error{
		"write": func(ctx context.Context, s ops.Set, path string) error {
			_, err := s.Write.WriteFile(ctx, path, []byte("new content\n"))
			return err
		},
		"swap": func(ctx context.Context, s ops.Set, path string) error {
			r, ok := s.Write.(ops.Replacer)
			if !ok {
				return errors.ErrUnsupported
			}
			_, err := r.ReplaceFile(ctx, path, expectOld(), []byte("new content\n"))
			return err
		},
		"edit": func(ctx context.Context, s ops.Set, path string) error {
			e, ok := s.Edit.(ops.Editor)
			if !ok {
				return errors.ErrUnsupported
			}
			_, err := e.EditFile(ctx, path, ops.EditRequest{Name: "f", Edits: []ops.Replacement{{Old: "old", New: "new"}}})
			return err
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			ups, downs := cutChange(t, change, -1, -1)
			if ups < 50 || downs < 10 {
				t.Fatalf("%d bytes up and %d down", ups, downs)
			}
			step := 5
			if os.Getenv("PIREMOTE_SOAK") == "1" { //nolint:forbidigo // tests read their own switches
				step = 1
			}
			for n := 0; n < ups; n += step {
				cutChange(t, change, n, -1)
			}
			for n := 0; n < downs; n += step {
				cutChange(t, change, -1, n)
			}
		})
	}
}

// cutChange makes a change over a link that is cut, and returns what an uncut one
// takes.
func cutChange(t *testing.T, change func(context.Context, ops.Set, string) error, up, down int) (ups, downs int) {
	t.Helper()
	cache := t.TempDir()
	w, link, dir := cutting(t, cache)
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("old content\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	link.arm(up, down)
	err := change(t.Context(), w.Set(), path)
	ups, downs = link.counts()
	got, rerr := os.ReadFile(path)
	if rerr != nil {
		t.Fatal(rerr)
	}
	if err != nil || string(got) != "new content\n" || endings(t, cache) != 1 {
		t.Errorf("cut after %d up, %d down: %v (%q), content %q, %d changes", up, down, err, fmt.Sprint(errors.Unwrap(err)), got, endings(t, cache))
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return ups, downs
}

func expectOld() ops.Expect {
	return ops.Expect{Exists: true, Size: 12, Hash: "40eda80edfc38b36bdcdc408aa6ff2cc40b708e46ece9dfd2b2801a05a18a5fc"}
}

// A read whose link is cut anywhere is read again.
func TestReadSurvivesTheCut(t *testing.T) {
	content := []byte(strings.Repeat("some text\n", 1000))
	for _, down := range []int{0, 1, 9, 10, 11, 100, 5000} {
		w, link, dir := cutting(t, t.TempDir())
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		link.arm(-1, down)
		got, err := w.Set().Read.ReadFile(t.Context(), path, 0)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("cut after %d: %v, %d bytes", down, err, len(got))
		}
	}
}

// Without a lease a command ends with its connection; who can't get back can't
// tell how it ended.
func TestCutCommandWithoutLeaseEnds(t *testing.T) {
	dir := t.TempDir()
	dial := helper(t, t.TempDir())
	var link io.ReadWriteCloser
	w, err := client.Open(t.Context(), client.Options{Label: "helper:", Dir: dir, Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		if link != nil {
			return nil, &ops.TransportError{Kind: ops.KindAuth, Msg: "not twice"}
		}
		s, err := dial(ctx)
		link = s
		return s, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	begun := make(chan string, 1)
	done := make(chan error, 1)
	go func() {
		_, err := w.Set().Bash.Exec(t.Context(), ops.Command{Script: "echo $$; sleep 100", Dir: dir}, func(c ops.Chunk) {
			begun <- strings.TrimSpace(string(c.Data))
		})
		done <- err
	}()
	pid := <-begun
	if _, err := os.Stat("/proc/" + pid); err != nil {
		t.Fatal(err)
	}
	_ = link.Close()
	if err := <-done; ops.KindOf(err) != ops.KindOutcomeUnknown {
		t.Errorf("%v", err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; <-tick.C {
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the command still runs")
		}
	}
}

// Large content is carried in parts, in both directions, and is exact.
func TestLargeContentIsExact(t *testing.T) {
	dir := t.TempDir()
	w, err := client.Open(t.Context(), client.Options{Label: "helper:", Dir: dir, Dial: helper(t, t.TempDir()), Bulk: 3, Compress: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for _, size := range []int{wire.MaxPayload - 1, wire.MaxPayload, wire.MaxPayload + 1, 3 * wire.PartSize, 20<<20 + 17} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(i * i >> 7)
		}
		path := filepath.Join(dir, fmt.Sprint(size))
		if _, err := w.Set().Write.WriteFile(t.Context(), path, content); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
			t.Errorf("written %d: %v, %d bytes", size, err, len(got))
		}
		if got, err := w.Set().Read.ReadFile(t.Context(), path, 0); err != nil || !bytes.Equal(got, content) {
			t.Errorf("read %d: %v, %d bytes", size, err, len(got))
		}
		opener, ok := w.Set().Read.(ops.Opener)
		if !ok {
			t.Fatal("no opener")
		}
		r, err := opener.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
			t.Errorf("streamed %d: %v, %d bytes", size, err, len(got))
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

package client_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/helper/server"
	"github.com/piremote/piremote/backends/helper/server/servertest"
	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/backends/local"
	"github.com/piremote/piremote/tools/ops"
)

// target is a workspace in a bubble, behind a link that can be cut once. The engine
// and the files are real.
type target struct {
	*client.Workspace

	link  *cutter
	host  *servertest.Host
	dir   string
	cache string
	made  *changed
}

// cutting opens a target, and ends it with the test.
func cutting(t *testing.T) *target {
	t.Helper()
	return reaching(t, client.Options{}, func(context.Context) error { return nil })
}

// reaching is cutting with options; again is asked before each connection behind the
// first.
func reaching(t *testing.T, o client.Options, again func(context.Context) error) *target {
	t.Helper()
	x := &target{dir: quickDir(t), cache: quickDir(t), made: &changed{}}
	x.host = servertest.NewHost(server.Options{Home: "/", Cache: x.cache, Open: x.open})
	var err error
	o.Label, o.Dir = "helper:", x.dir
	o.Dial = func(ctx context.Context) (io.ReadWriteCloser, error) {
		if x.link != nil {
			if err := again(ctx); err != nil {
				return nil, err
			}
		}
		s, err := x.host.Start(ctx)
		if x.link == nil && err == nil {
			x.link = newCutter(s)
			return x.link, nil
		}
		return s, err
	}
	x.Workspace, err = client.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = x.Close()
		x.host.Wait()
	})
	return x
}

// quickDir is a folder for a test, in memory where there is a file system for that:
// on a disk each change waits some ms for it.
func quickDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "piremote-test-") //nolint:usetesting // the usual place may be a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// open opens the engine and counts what it changes.
func (x *target) open(ctx context.Context, dir, root string, _ []ops.Root) (server.Workspace, error) {
	w, err := local.Open(ctx, local.Options{Dir: dir, Root: root, LockDir: filepath.Join(x.cache, "locks")})
	if err != nil {
		return nil, err
	}
	return counted{w, x.made}, nil
}

// changed counts the changes that an engine has made.
type changed struct{ n atomic.Int64 }

func (c *changed) add(err error) error {
	if err == nil {
		c.n.Add(1)
	}
	return err
}

// counted is a workspace whose changes are counted.
type counted struct {
	*local.Workspace
	*changed
}

func (c counted) Set() ops.Set { return c.count(c.Workspace.Set()) }

func (c counted) count(set ops.Set) ops.Set {
	at := set.At
	set.At = func(dir, root string) (ops.Set, error) {
		other, err := at(dir, root)
		return c.count(other), err
	}
	set.Write = countedWrites{set.Write, c.changed}
	set.Edit = countedEdits{set.Edit, c.changed}
	return set
}

type countedWrites struct {
	ops.WriteOperations
	*changed
}

func (c countedWrites) WriteFile(ctx context.Context, path string, data []byte) (ops.WriteReport, error) {
	r, err := c.WriteOperations.WriteFile(ctx, path, data)
	return r, c.add(err)
}

func (c countedWrites) ReplaceFile(ctx context.Context, path string, expect ops.Expect, data []byte) (ops.WriteReport, error) {
	replacer, ok := c.WriteOperations.(ops.Replacer)
	if !ok {
		return ops.WriteReport{}, errors.ErrUnsupported
	}
	r, err := replacer.ReplaceFile(ctx, path, expect, data)
	return r, c.add(err)
}

type countedEdits struct {
	ops.EditOperations
	*changed
}

func (c countedEdits) EditFile(ctx context.Context, path string, edit ops.EditRequest) (ops.EditReport, error) {
	editor, ok := c.EditOperations.(ops.Editor)
	if !ok {
		return ops.EditReport{}, errors.ErrUnsupported
	}
	r, err := editor.EditFile(ctx, path, edit)
	return r, c.add(err)
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
	t.Parallel()
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
		for how, silent := range map[string]bool{"closed": false, "silent": true} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel() // each waits for the disk most of the time
				ups, downs := cutChange(t, change, -1, -1, silent)
				if ups < 50 || downs < 10 {
					t.Fatalf("%d bytes up and %d down", ups, downs)
				}
				for n := range ups {
					cutChange(t, change, n, -1, silent)
				}
				for n := range downs {
					cutChange(t, change, -1, n, silent)
				}
				t.Logf("cut after each of %d bytes up and %d down", ups, downs)
			})
		}
	}
}

// cutChange makes a change over a link that is cut, in a bubble, and returns how
// many bytes passed each way.
func cutChange(t *testing.T, change func(context.Context, ops.Set, string) error, up, down int, silent bool) (ups, downs int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		x := cutting(t)
		path := filepath.Join(x.dir, "f")
		if err := os.WriteFile(path, []byte("old content\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // nothing else is on the way
		x.link.arm(up, down, silent)
		err := change(t.Context(), x.Set(), path)
		ups, downs = x.link.counts()
		got, rerr := os.ReadFile(path)
		if rerr != nil {
			t.Fatal(rerr)
		}
		if n, noted := x.made.n.Load(), endings(t, x.cache); err != nil || string(got) != "new content\n" || n != 1 || noted != 1 {
			t.Errorf("cut after %d up, %d down: %v (%v), content %q, changed %d times, noted %d times", up, down, err, errors.Unwrap(err), got, n, noted)
		}
		if left, err := filepath.Glob(filepath.Join(x.dir, ".*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return ups, downs
}

func expectOld() ops.Expect {
	return ops.Expect{Exists: true, Size: 12, Hash: "40eda80edfc38b36bdcdc408aa6ff2cc40b708e46ece9dfd2b2801a05a18a5fc"}
}

// A read whose link is cut anywhere is read again.
func TestReadSurvivesTheCut(t *testing.T) {
	content := []byte(strings.Repeat("some text\n", 1000))
	for _, down := range []int{0, 1, 9, 10, 11, 100, 5000} {
		synctest.Test(t, func(t *testing.T) {
			x := cutting(t)
			path := filepath.Join(x.dir, "f")
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
			x.link.arm(-1, down, false)
			got, err := x.Set().Read.ReadFile(t.Context(), path, 0)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("cut after %d: %v, %d bytes", down, err, len(got))
			}
		})
	}
}

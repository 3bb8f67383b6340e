//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
)

func edit(old, text string) ops.EditRequest {
	return ops.EditRequest{Name: "f", Edits: []ops.Replacement{{Old: old, New: text}}}
}

// changes are what another program may do to a file meanwhile.
func changes(t *testing.T) map[string]func(path string) {
	t.Helper()
	moment := time.Now().Add(-time.Hour)
	return map[string]func(string){
		"appended":            func(p string) { put(t, p, "one two!") },
		"cut":                 func(p string) { check(t, os.Truncate(p, 3)) },
		"written":             func(p string) { put(t, p, "two one") },
		"written in the past": func(p string) { put(t, p, "two one"); check(t, os.Chtimes(p, moment, moment)) },
		"another mode":        func(p string) { check(t, os.Chmod(p, 0o640)) },
		"another name":        func(p string) { check(t, os.Link(p, p+".link")) },
		"replaced":            func(p string) { put(t, p+".new", "one two"); check(t, os.Rename(p+".new", p)) },
		"removed":             func(p string) { check(t, os.Remove(p)) },
		"a link": func(p string) {
			check(t, os.Rename(p, p+".kept"))
			check(t, os.Symlink(filepath.Base(p)+".kept", p))
		},
		"a folder": func(p string) { check(t, os.Remove(p)); check(t, os.Mkdir(p, 0o700)) },
	}
}

// snapshot is everything in a folder.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	var b strings.Builder
	for _, e := range entries {
		data, _ := os.ReadFile(filepath.Join(dir, e.Name())) // a folder has none
		fmt.Fprintf(&b, "%s %v %q\n", e.Name(), e.Type(), data)
	}
	return b.String()
}

func TestMUTQ05AFileThatChangedMeanwhileIsNotReplaced(t *testing.T) {
	for name, change := range changes(t) {
		_, e, dir := open(t)
		p := filepath.Join(dir, "f")
		put(t, p, "one two")
		var after string
		_, err := e.change(t.Context(), p, func(j job) (_ ops.WriteReport, err error) {
			if j.seen, err = j.dir.read(t.Context(), j.base, 0); err != nil {
				return ops.WriteReport{}, err
			}
			defer j.seen.close()
			change(p)
			after = snapshot(t, dir)
			j.data = []byte("1 two")
			return j.swap(t.Context())
		})
		is := errors.Is(err, ops.ErrChanged)
		if name == "a folder" {
			is = errors.Is(err, ops.ErrIsDir)
		}
		if now := snapshot(t, dir); !is || now != after {
			t.Errorf("%s: %v\n%s\n%s", name, err, after, now)
		}
	}
}

// A file that is changed twice between two ticks of the clock looks the same.
func TestMUTQ05AChangeWithinATickIsSeen(t *testing.T) {
	for _, links := range []int{1, 2} {
		_, e, dir := open(t)
		p := filepath.Join(dir, "f")
		put(t, p, "one two")
		if links > 1 {
			check(t, os.Link(p, p+"2"))
		}
		_, err := e.change(t.Context(), p, func(j job) (_ ops.WriteReport, err error) {
			if j.seen, err = j.dir.read(t.Context(), j.base, 0); err != nil {
				return ops.WriteReport{}, err
			}
			defer j.seen.close()
			put(t, p, "two one")
			if j.seen.entry, err = j.dir.lstat(j.base); err != nil { // as if the clock stood still
				return ops.WriteReport{}, err
			}
			j.data = []byte("1 two")
			return j.swap(t.Context())
		})
		if data, rerr := os.ReadFile(p); !errors.Is(err, ops.ErrChanged) || rerr != nil || string(data) != "two one" {
			t.Errorf("%d links: %v, %q, %v", links, err, data, rerr)
		}
	}
}

// trap is a context that does something when it is asked for the nth time
// whether it has ended, which is between any two steps.
type trap struct {
	context.Context //nolint:containedctx // it stands for one
	left            int
	spring          func()
}

func (c *trap) Err() error {
	if c.left--; c.left == 0 {
		c.spring()
	}
	return c.Context.Err()
}

func TestMUTQ05NoMomentOfAnEditLosesAChange(t *testing.T) {
	for _, links := range []int{1, 2} {
		changed, sprung := 0, 0
		for n := 1; n < 40; n++ {
			_, e, dir := open(t)
			p := filepath.Join(dir, "f")
			put(t, p, "one two")
			if links > 1 {
				check(t, os.Link(p, p+"2"))
			}
			hit := false
			ctx := &trap{t.Context(), n, func() { hit = true; put(t, p, "one two, and three") }}
			_, err := e.EditFile(ctx, p, edit("one", "1"))
			data, rerr := os.ReadFile(p)
			check(t, rerr)
			want := "1 two"
			switch {
			case errors.Is(err, ops.ErrChanged):
				changed++
				want = "one two, and three"
			case err != nil:
				t.Errorf("moment %d: %v", n, err)
			case hit:
				want = "1 two, and three"
			}
			if string(data) != want {
				t.Errorf("moment %d: %v, %q, want %q", n, err, data, want)
			}
			noTemp(t, dir)
			if hit {
				sprung++
			}
		}
		t.Logf("%d links: %d moments, at %d it was noticed", links, sprung, changed)
		if changed == 0 || sprung == 39 {
			t.Errorf("%d links: noticed at %d of %d moments", links, changed, sprung)
		}
	}
}

func TestMUTQ05NoMomentOfACreationReplacesAFile(t *testing.T) {
	for _, withNames := range []bool{false, true} {
		changed := 0
		for n := 1; n < 40; n++ {
			w, e, dir := open(t)
			if withNames {
				w.facts.proc = false
			}
			p := filepath.Join(dir, "f")
			ctx := &trap{t.Context(), n, func() { put(t, p, "theirs") }}
			_, err := e.ReplaceFile(ctx, p, ops.Expect{}, []byte("ours"))
			data, rerr := os.ReadFile(p)
			check(t, rerr)
			if errors.Is(err, ops.ErrChanged) {
				changed++
			}
			if want := map[bool]string{true: "ours", false: "theirs"}[err == nil]; string(data) != want {
				t.Errorf("moment %d: %v, %q", n, err, data)
			}
			noTemp(t, dir)
		}
		if changed == 0 {
			t.Error("it was never noticed")
		}
	}
}

func TestWRIT03EditInAFolderThatTakesNoFile(t *testing.T) {
	if asNobody(t) {
		return
	}
	_, e, dir := open(t)
	p := filepath.Join(dir, "sub", "f")
	put(t, p, "one two")
	check(t, os.Chmod(filepath.Dir(p), 0o500))
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(p), 0o700) })
	report, err := e.EditFile(t.Context(), p, edit("one", "1"))
	data, rerr := os.ReadFile(p)
	if err != nil || rerr != nil || string(data) != "1 two" || report.InPlace == "" {
		t.Errorf("%+v, %v, %q, %v", report, err, data, rerr)
	}
}

func TestEditInARootThatTakesNoChanges(t *testing.T) {
	other := t.TempDir()
	other, err := filepath.EvalSymlinks(other)
	check(t, err)
	_, e, _ := open(t, func(o *Options) { o.ExtraRoots = []ops.Root{{Path: other, ReadOnly: true}} })
	p := filepath.Join(other, "f")
	put(t, p, "one two")
	_, applies := e.EditFile(t.Context(), p, edit("one", "1"))
	_, mismatch := e.EditFile(t.Context(), p, edit("three", "3"))
	_, missing := e.EditFile(t.Context(), p+"2", edit("one", "1"))
	_, swap := e.ReplaceFile(t.Context(), p, ops.Expect{Exists: true, Size: 7, Hash: steps.Hash([]byte("one two"))}, nil)
	_, create := e.ReplaceFile(t.Context(), p+"2", ops.Expect{}, nil)
	_, tree := e.WriteTree(t.Context(), filepath.Join(other, "a", "b"), nil)
	var m *ops.MismatchError
	if !errors.Is(applies, ops.ErrReadOnly) || !errors.As(mismatch, &m) || !errors.Is(missing, os.ErrNotExist) ||
		!errors.Is(swap, ops.ErrReadOnly) || !errors.Is(create, ops.ErrReadOnly) || !errors.Is(tree, ops.ErrReadOnly) {
		t.Error(applies, mismatch, missing, swap, create, tree)
	}
	if got := snapshot(t, other); got != "f ---------- \"one two\"\n" {
		t.Error(got)
	}
}

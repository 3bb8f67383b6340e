package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/piremote/piremote/tools/ops"
)

// maxHops is the number of symbolic links that a path may lead through.
const maxHops = 40

// place is a name below an opened root.
type place struct {
	root *root
	name string // relative and clean; "." is the root itself
}

// abs is the absolute path of the place.
func (p place) abs() string { return filepath.Join(p.root.canonical, p.name) }

// Canonical follows the links of a path; what does not exist is appended to its
// nearest existing ancestor. See ops.Canonicalizer.
func (e engine) Canonical(ctx context.Context, path string) (string, error) {
	at, err := e.follow(ctx, path)
	if err != nil {
		return "", e.fail("canonical", path, err)
	}
	return at.abs(), nil
}

// clean checks a caller's path. Trailing slashes are gone afterwards (hazard
// CONF-05).
func clean(path string) (string, error) {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", syscall.EINVAL
	}
	return filepath.Clean(path), nil
}

// locate finds the innermost root that an absolute clean path names, without
// looking at the file system.
func (v *view) locate(path string) (place, error) {
	var found place
	var length int
	for _, r := range v.roots {
		if r.handle == nil {
			whole := &root{canonical: volumeRoot(path)}
			name, _ := below(whole.canonical, path)
			return place{whole, name}, nil
		}
		if name, ok := r.below(path); ok && (found.root == nil || len(r.canonical) > length) {
			found, length = place{r, name}, len(r.canonical)
		}
	}
	if found.root == nil {
		return place{}, ops.ErrOutside
	}
	return found, nil
}

func (r *root) below(path string) (string, bool) {
	if name, ok := below(r.canonical, path); ok {
		return name, true
	}
	for _, a := range r.aliases {
		if name, ok := below(a, path); ok {
			return name, true
		}
	}
	return "", false
}

// follow resolves every link of a path itself, also those that os.Root refuses
// although they lead back inside: absolute ones, and ones that climb above the
// root. Nothing outside of the roots is ever looked at, so that an error can't
// tell what exists there (hazards CONF-02, CONF-03). What it returns has no
// links, but is used through os.Root all the same, in case one appears.
func (v *view) follow(ctx context.Context, path string) (place, error) {
	path, err := clean(path)
	if err != nil {
		return place{}, err
	}
	at, err := v.locate(path)
	if err != nil {
		return place{}, err
	}
	w := walk{view: v, root: at.root, name: ".", rest: segments(at.name)}
	for len(w.rest) > 0 {
		if err := ctx.Err(); err != nil {
			return place{}, err
		}
		if err := w.step(); err != nil {
			return place{}, err
		}
	}
	// A root may lie inside another one; the innermost has the last word.
	return v.locate(place{w.root, w.name}.abs())
}

// walk is a path that is being resolved.
type walk struct {
	view    *view
	root    *root
	name    string   // what is resolved, below root
	rest    []string // what is not
	hops    int
	missing int // components at the end of name that do not exist
}

// step resolves the first component of the rest.
func (w *walk) step() error {
	segment := w.rest[0]
	w.rest = w.rest[1:]
	if segment == ".." {
		w.missing = max(0, w.missing-1)
		if w.name == "." {
			return w.enter(segments(filepath.Dir(w.root.canonical)), w.rest)
		}
		w.name = filepath.Dir(w.name)
		return nil
	}
	next := filepath.Join(w.name, segment)
	if w.missing > 0 {
		w.name = next
		w.missing++
		return nil
	}
	info, err := w.root.lstat(next)
	if absent(err) {
		w.name = next
		w.missing = 1
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		w.name = next
		return nil
	}
	if w.hops++; w.hops > maxHops {
		return ops.ErrLoop
	}
	target, err := w.root.readlink(next)
	if err != nil {
		return err
	}
	if filepath.IsAbs(target) || filepath.VolumeName(target) != "" {
		return w.enter(segments(target), w.rest)
	}
	w.rest = append(segments(target), w.rest...)
	return nil
}

// enter goes on at an absolute path, given as the components done (which are
// already resolved or not, as they come) and then rest. Above the roots only the
// very folders that lead to one count; everything else is outside.
func (w *walk) enter(path, rest []string) error {
	all := append(append([]string{}, path...), rest...)
	volume := ""
	if w.root.handle == nil {
		volume = w.root.canonical
	} else {
		volume = volumeRoot(w.root.canonical)
	}
	at := volume
	for i := 0; ; i++ {
		if r := w.view.named(at); r != nil {
			w.root, w.name, w.rest, w.missing = r, ".", all[i:], 0
			return nil
		}
		if i == len(all) {
			return ops.ErrOutside
		}
		at = filepath.Join(at, all[i]) // also takes ".." back
	}
}

// named returns the root that has exactly this path.
func (v *view) named(path string) *root {
	for _, r := range v.roots {
		if r.handle == nil {
			return &root{canonical: volumeRoot(path)}
		}
		if samePath(r.canonical, path) {
			return r
		}
		for _, a := range r.aliases {
			if samePath(a, path) {
				return r
			}
		}
	}
	return nil
}

func segments(path string) []string {
	path = path[len(filepath.VolumeName(path)):]
	return strings.FieldsFunc(path, func(r rune) bool {
		return r == filepath.Separator || r < 0x80 && os.IsPathSeparator(uint8(r)) //nolint:gosec // checked to fit
	})
}

// reach runs fn on the place that a path names; when links lead there in a way
// that os.Root refuses, again on the place behind them. fn must have no effect
// when it fails.
func (v *view) reach(ctx context.Context, path string, fn func(place) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cleaned, err := clean(path)
	if err != nil {
		return err
	}
	at, err := v.locate(cleaned)
	if err != nil {
		return err
	}
	err = fn(at)
	if err == nil || !at.root.refused(err) {
		return err
	}
	if at, err = v.follow(ctx, cleaned); err != nil {
		return err
	}
	return fn(at)
}

// refused reports whether os.Root did not follow a link: one that may lead out,
// or more of them than it follows.
func (r *root) refused(err error) bool {
	return r.handle != nil && (r.escape != nil && errors.Is(err, r.escape) || errors.Is(sentinel(err), ops.ErrLoop))
}

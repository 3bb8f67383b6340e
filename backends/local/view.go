package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

// view is a working folder with the roots that its file operations may reach.
type view struct {
	ws    *Workspace
	dir   string  // canonical
	roots []*root // the first is the confinement root; one without handle if unconfined
}

// engine is the value behind every operation of a Set.
type engine struct{ *view }

// root is an opened folder.
type root struct {
	handle    *os.Root // nil: the whole file system
	folder    *os.File // of handle, for calls that os.Root does not have
	canonical string
	aliases   []string // other absolute paths by which callers name it
	readOnly  bool
	escape    error // how handle says that a path leads out
}

func openView(w *Workspace, dir, confine string) (*view, error) {
	if dir == "" {
		return nil, unavailable(dir, "No working folder was given", nil)
	}
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, unavailable(dir, "The working folder "+dir+" can't be used", err)
	}
	canonical, err := existingDir(given)
	if err != nil {
		return nil, unavailable(dir, "The working folder "+dir+" can't be used", err)
	}
	v := &view{ws: w, dir: canonical}
	if w.options.Unconfined {
		v.roots = []*root{{canonical: volumeRoot(canonical)}}
		return v, nil
	}
	if confine == "" {
		confine = given
	}
	for i, r := range append([]ops.Root{{Path: confine}}, w.options.ExtraRoots...) {
		opened, err := openRoot(r)
		if err != nil {
			v.close()
			return nil, unavailable(r.Path, "The root folder "+r.Path+" can't be used", err)
		}
		v.roots = append(v.roots, opened)
		if i > 0 {
			continue
		}
		inside, ok := below(opened.canonical, canonical)
		if !ok {
			v.close()
			return nil, unavailable(dir, fmt.Sprintf("The working folder %s is outside of the root folder %s", dir, confine), ops.ErrOutside)
		}
		// The folder may be named through a link above the root; the root too.
		if alias, ok := strings.CutSuffix(given, inside); ok && inside != "." {
			opened.alias(filepath.Clean(alias))
		} else if inside == "." {
			opened.alias(given)
		}
	}
	return v, nil
}

func openRoot(r ops.Root) (*root, error) {
	given, err := filepath.Abs(r.Path)
	if err != nil {
		return nil, err
	}
	canonical, err := existingDir(given)
	if err != nil {
		return nil, err
	}
	handle, err := os.OpenRoot(canonical)
	if err != nil {
		return nil, err
	}
	folder, err := handle.Open(".")
	if err != nil {
		_ = handle.Close()
		return nil, err
	}
	opened := &root{handle: handle, folder: folder, canonical: canonical, readOnly: r.ReadOnly}
	opened.alias(given)
	if _, err := handle.Lstat(filepath.Join("..", "x")); err != nil {
		opened.escape = bare(err)
	}
	return opened, nil
}

// alias adds a name of the root. It must name the same folder.
func (r *root) alias(p string) {
	if p == r.canonical {
		return
	}
	for _, a := range r.aliases {
		if a == p {
			return
		}
	}
	if c, err := filepath.EvalSymlinks(p); err == nil && c == r.canonical {
		r.aliases = append(r.aliases, p)
	}
}

// existingDir returns the canonical path of a folder.
func existingDir(p string) (string, error) {
	canonical, err := filepath.EvalSymlinks(p)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(canonical)
	if err == nil && !info.IsDir() {
		err = ops.ErrNotDir
	}
	return canonical, err
}

func (v *view) close() {
	for _, r := range v.roots {
		if r.handle != nil {
			_ = r.handle.Close()
			_ = r.folder.Close()
		}
	}
}

// rootPath is the canonical confinement root; empty if not confined.
func (v *view) rootPath() string {
	if v.ws.options.Unconfined {
		return ""
	}
	return v.roots[0].canonical
}

// extraRoots are the further roots.
func (v *view) extraRoots() []ops.Root {
	var list []ops.Root
	for _, r := range v.roots[1:] {
		list = append(list, ops.Root{Path: r.canonical, ReadOnly: r.readOnly})
	}
	return list
}

func (v *view) confinement() ops.Confinement {
	if v.ws.options.Unconfined {
		return ""
	}
	return ops.ByDescriptor
}

// below returns p relative to dir when it is dir or inside it, compared by
// segments and never by string prefix alone (hazard CONF-01). Both are clean.
func below(dir, p string) (string, bool) {
	if samePath(dir, p) {
		return ".", true
	}
	if !os.IsPathSeparator(dir[len(dir)-1]) {
		dir += string(filepath.Separator)
	}
	if len(p) > len(dir) && samePath(p[:len(dir)], dir) {
		return p[len(dir):], true
	}
	return "", false
}

func samePath(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}

func volumeRoot(p string) string {
	return filepath.VolumeName(p) + string(filepath.Separator)
}

// absent reports whether err says that a component does not exist, or can't
// because something above it is no folder.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, ops.ErrNotDir) || errors.Is(sentinel(err), ops.ErrNotDir)
}

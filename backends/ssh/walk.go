package ssh

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/pkg/sftp"

	"github.com/piremote/piremote/tools/ops"
)

// maxHops is the number of symbolic links that a path may lead through.
const maxHops = 40

// place is where a path leads.
type place struct {
	path    string      // without links
	info    fs.FileInfo // of the thing itself; nil if it does not exist
	missing int         // components at the end that don't exist
}

// confines reports whether p, clean and absolute, is root or below it. Segments
// are compared, not prefixes (hazard CONF-01).
func confines(root, p string) bool {
	return root == "/" || root == "" || p == root || strings.HasPrefix(p, root+"/")
}

// base is a root of a walker.
type base struct {
	path     string   // canonical
	aliases  []string // by which callers name it
	readOnly bool
}

// walker follows paths below roots without links. Without roots nothing is confined.
type walker struct{ roots []base }

// inside maps p to a path below a canonical root, which it returns; of roots in one
// another it is the innermost. Nothing outside is ever looked at, so that no error
// tells what exists there (hazard CONF-02).
func (w walker) inside(p string) (root, mapped string, err error) {
	if len(w.roots) == 0 {
		return "/", p, nil
	}
	length := -1
	take := func(r base, name string) {
		if confines(name, p) && len(name) > length {
			root, mapped, length = r.path, path.Clean(r.path+"/"+strings.TrimPrefix(p, name)), len(name)
		}
	}
	for _, r := range w.roots {
		take(r, r.path)
		for _, a := range r.aliases {
			take(r, a)
		}
	}
	if length < 0 {
		return "", "", ops.ErrOutside
	}
	return root, mapped, nil
}

// confines reports whether a path without links may be at p.
func (w walker) confines(p string) bool {
	return len(w.roots) == 0 || slices.ContainsFunc(w.roots, func(r base) bool { return confines(r.path, p) })
}

// frozen reports whether nothing may be changed at p, which has no links.
func (w walker) frozen(p string) bool {
	length, frozen := -1, false
	for _, r := range w.roots {
		if confines(r.path, p) && len(r.path) > length {
			length, frozen = len(r.path), r.readOnly
		}
	}
	return frozen
}

// walk is one path on its way.
type walk struct {
	walker
	at   string      // resolved so far
	rest []string    // still to be followed
	info fs.FileInfo // of at; nil if not asked for
	hops int
}

// follow resolves name component by component with LSTAT and READLINK: the
// server's REALPATH means something else on every server (hazards CONF-03,
// CONF-06). All components are asked for at once, so that a path without links
// costs one round trip.
func (w walker) follow(ctx context.Context, s *sftpSession, name string) (place, error) {
	if !path.IsAbs(name) || strings.ContainsRune(name, 0) {
		return place{}, fs.ErrInvalid
	}
	root, p, err := w.inside(path.Clean(name))
	if err != nil {
		return place{}, err
	}
	k := walk{walker: w}
	k.restart(root, p)
	for len(k.rest) > 0 || k.info == nil {
		run := upTo(k.rest)
		if len(run) == 0 && len(k.rest) > 0 {
			if err := k.up(); err != nil {
				return place{}, err
			}
			continue
		}
		infos, err := call(ctx, s, func(c *sftp.Client) ([]lstat, error) { return lstats(c, k.at, run), nil })
		if err != nil {
			return place{}, err
		}
		for _, st := range infos { // a lost session may hide in any of them
			if s.lost(st.err) {
				s.kill()
				return place{}, st.err
			}
		}
		if missing, err := k.take(ctx, s, infos); err != nil || missing != nil {
			if err != nil {
				return place{}, err
			}
			return *missing, nil
		}
	}
	return place{path: k.at, info: k.info}, nil
}

// restart begins anew at a root.
func (k *walk) restart(root, p string) {
	k.at, k.rest, k.info = root, components(strings.TrimPrefix(p, root)), nil
}

// up goes to the parent. Above the root only a path that comes back in is
// allowed, and the way back needs no look: the root has no links.
func (k *walk) up() error {
	k.at, k.rest, k.info = path.Dir(k.at), k.rest[1:], nil
	if k.confines(k.at) {
		return nil
	}
	root, p, err := k.inside(path.Join(append([]string{k.at}, k.rest...)...))
	if err != nil {
		return err
	}
	k.restart(root, p)
	return nil
}

// take goes through the answers up to the first link. The first answer is about
// k.at itself if there was nothing else to ask for. It returns a place if
// something does not exist.
func (k *walk) take(ctx context.Context, s *sftpSession, infos []lstat) (*place, error) {
	if len(k.rest) == 0 {
		k.info = infos[0].info
		return nil, sftpError(infos[0].err)
	}
	for _, st := range infos {
		err := sftpError(st.err)
		next := path.Join(k.at, k.rest[0])
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(upTo(k.rest)) == len(k.rest):
			return &place{path: path.Join(append([]string{k.at}, k.rest...)...), missing: len(k.rest)}, nil
		case err != nil:
			return nil, err
		case st.info.Mode()&fs.ModeSymlink != 0:
			k.info = nil
			return nil, k.link(ctx, s, next)
		case !st.info.IsDir() && len(k.rest) > 1:
			return nil, ops.ErrNotDir
		}
		k.at, k.rest, k.info = next, k.rest[1:], st.info
	}
	return nil, nil //nolint:nilnil // nothing is missing
}

// link follows the link at next.
func (k *walk) link(ctx context.Context, s *sftpSession, next string) error {
	if k.hops++; k.hops > maxHops {
		return ops.ErrLoop
	}
	target, err := call(ctx, s, func(c *sftp.Client) (string, error) { return c.ReadLink(next) })
	if err != nil {
		if s.lost(err) || ctx.Err() != nil {
			return err
		}
		return sftpError(err)
	}
	rest := append(components(target), k.rest[1:]...)
	if !path.IsAbs(target) {
		k.rest = rest
		return nil
	}
	// Lexically, since ".." in the target may cross links: only the part before
	// the first of them is taken for granted.
	root, p, err := k.inside(path.Clean("/" + strings.Join(upTo(rest), "/")))
	if err != nil {
		return err
	}
	tail := rest[len(upTo(rest)):]
	k.restart(root, p)
	k.rest = append(k.rest, tail...)
	return nil
}

// upTo returns the components before the first "..".
func upTo(list []string) []string {
	for i, c := range list {
		if c == ".." {
			return list[:i]
		}
	}
	return list
}

// components splits a path; "." and empty ones say nothing.
func components(p string) []string {
	var list []string
	for c := range strings.SplitSeq(p, "/") {
		if c != "" && c != "." {
			list = append(list, c)
		}
	}
	return list
}

type lstat struct {
	info fs.FileInfo
	err  error
}

// lstats asks for at/names[0], at/names[0]/names[1] … at once; for at itself if
// there are no names.
func lstats(c *sftp.Client, at string, names []string) []lstat {
	list := make([]lstat, max(1, len(names)))
	if len(names) == 0 {
		list[0].info, list[0].err = c.Lstat(at)
		return list
	}
	var wg sync.WaitGroup
	for i, n := range names {
		at = path.Join(at, n)
		name := at
		wg.Go(func() { list[i].info, list[i].err = c.Lstat(name) })
	}
	wg.Wait()
	return list
}

package ssh

import (
	"context"
	"errors"
	"path"

	"github.com/pkg/sftp"

	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// view is a working folder and a root of a workspace.
type view struct {
	workspace *Workspace
	engine    *posix.Engine // nil if there is no shell
	files     *sftpFiles    // nil if there is no SFTP server
	both      bool          // each does what it does better
	dir, root string        // canonical
	extra     []ops.Root    // the further roots
}

func realPath(ctx context.Context, s *sftpSession) (string, error) {
	return call(ctx, s, func(c *sftp.Client) (string, error) { return c.RealPath(".") })
}

// newView looks at the folders and returns a view on them.
func (w *Workspace) newView(ctx context.Context, dir, root string) (*view, error) {
	dir, root = path.Clean(dir), path.Clean(root)
	if w.engine == nil {
		return w.viewBySFTP(ctx, dir, root)
	}
	var e *posix.Engine
	var err error
	if w.main == nil { // the first was opened to find the home
		if e, err = w.newEngine(ctx, dir, root); err == nil {
			w.engine = e
		}
	} else {
		e, err = w.engine.At(ctx, dir, root)
	}
	if err != nil {
		return nil, err
	}
	return w.viewOf(ctx, e, root)
}

// viewOf returns a view on the folders of an engine, which are canonical. asked
// is the root as it was asked for.
func (w *Workspace) viewOf(_ context.Context, e *posix.Engine, asked string) (*view, error) {
	p := e.Probe()
	v := &view{workspace: w, engine: e, dir: p.Dir, root: p.Root, extra: p.Extra}
	if w.clients != nil {
		v.files = &sftpFiles{clients: w.clients, walker: w.walker(p.Root, asked, p.Extra), runner: &runner{w.connection}}
		v.both = w.options.Files == FilesBoth && e.CarriesFiles()
	}
	return v, nil
}

// viewBySFTP does the same without a shell.
func (w *Workspace) viewBySFTP(ctx context.Context, dir, root string) (*view, error) {
	label := w.label(dir)
	all := &sftpFiles{clients: w.clients, walker: walker{}}
	folder := func(name string) (string, error) {
		p, err := retry(ctx, w.clients, func(ctx context.Context, s *sftpSession) (place, error) { return all.walker.follow(ctx, s, name) })
		switch {
		case err != nil && (ops.KindOf(err) != "" || ctx.Err() != nil):
			return "", err
		case err != nil:
			return "", transport(ops.KindUnavailable, label, err, "the folder %s on %s can't be used: %v", name, w.connection.hop.address(), err)
		case p.info == nil:
			return "", transport(ops.KindUnavailable, label, nil, "the folder %s does not exist on %s", name, w.connection.hop.address())
		case !p.info.IsDir():
			return "", transport(ops.KindUnavailable, label, ops.ErrNotDir, "%s on %s is not a folder", name, w.connection.hop.address())
		}
		return p.path, nil
	}
	v := &view{workspace: w}
	var err error
	if v.dir, err = folder(dir); err != nil {
		return nil, err
	}
	if v.root, err = folder(root); err != nil {
		return nil, err
	}
	for _, r := range w.options.ExtraRoots {
		p, err := folder(r.Path)
		if err != nil {
			return nil, err
		}
		v.extra = append(v.extra, ops.Root{Path: p, ReadOnly: r.ReadOnly})
	}
	if !confines(v.root, v.dir) {
		return nil, pathError("open", dir, ops.ErrOutside)
	}
	v.files = &sftpFiles{clients: w.clients, walker: w.walker(v.root, root, v.extra)}
	return v, nil
}

// walker confines to a root, which was asked for as it says, and to the further roots.
func (w *Workspace) walker(root, asked string, extra []ops.Root) walker {
	if root == "/" || root == "" {
		return walker{}
	}
	k := walker{roots: []base{{path: root, aliases: aliases(root, asked)}}}
	for i, r := range extra {
		k.roots = append(k.roots, base{path: r.Path, aliases: aliases(r.Path, w.options.ExtraRoots[i].Path), readOnly: r.ReadOnly})
	}
	return k
}

func aliases(canonical, asked string) []string {
	if asked = path.Clean(asked); asked != canonical && path.IsAbs(asked) {
		return []string{asked}
	}
	return nil
}

// set describes the view to the tools.
func (v *view) set() ops.Set {
	w := v.workspace
	var s ops.Set
	if v.engine != nil {
		s = v.engine.Set()
	} else {
		s.Target = ops.Target{Backend: "ssh", Home: ""}
	}
	s.Target.Label, s.Target.Dir, s.Target.Root = w.label(v.dir), v.dir, v.root
	switch {
	case v.root == "/":
		s.Target.Root = ""
	case v.bySFTP():
		s.Target.Roots, s.Target.Confinement = v.extra, ops.ByChecking
	default:
		s.Target.Roots, s.Target.Confinement = v.extra, ops.ByEntering
	}
	files := fileOps{v}
	s.Read, s.Write, s.Edit, s.Ls, s.Find, s.Grep = files, files, files, files, files, files
	if v.files != nil {
		s.Mutations = w.mutations
	}
	if v.bySFTP() {
		s.Target.Weaker = v.weakerBySFTP()
		if v.engine != nil {
			s.Target.Weaker = append(s.Target.Weaker, v.engine.WeakerExec()...)
		}
	}
	if v.engine != nil && v.engine.Windows() {
		s.Read, s.Edit = windowOps{files}, windowOps{files}
	}
	if v.engine != nil && v.engine.Searches() {
		s.Find, s.Grep = searchOps{files}, searchOps{files}
	}
	s.At = func(dir, root string) (ops.Set, error) {
		ctx, cancel := context.WithTimeoutCause(context.Background(), w.options.ConnectTimeout, errTimeout)
		defer cancel()
		at, err := w.newView(ctx, dir, root)
		if err != nil {
			return ops.Set{}, err
		}
		return at.set(), nil
	}
	return s
}

// bySFTP reports whether SFTP alone carries files.
func (v *view) bySFTP() bool { return v.files != nil && !v.both }

// strict refuses a change that can't be kept inside the roots, if that is demanded.
func (v *view) strict(op, name string) error {
	if !v.workspace.options.Strict || !v.bySFTP() || v.root == "/" {
		return nil
	}
	return pathError(op, name, errStrict)
}

// errStrict is why a change is refused.
var errStrict = errors.New("confine: strict allows no change where SFTP alone carries files, since a folder that is swapped for a link would lead it out of the workspace; " +
	"let the helper or a shell run on the host, or use confine: on")

// weakerBySFTP lists what SFTP can't promise, a sentence each.
func (v *view) weakerBySFTP() []string {
	list := []string{
		"A file that another process changes in the moment before it is replaced, or within a second and to the same size, is replaced: there is no compare-and-swap at the target.",
		"ACLs and extended attributes of a replaced file are not kept: SFTP does not carry them.",
	}
	if v.root != "/" {
		list = append(list, "A folder that is swapped for a link while a file in it is opened may lead out of the workspace: SFTP checks a path and then uses it.")
	}
	if v.engine == nil {
		list = append(list,
			"There are no commands and searches move whole files: "+plain(v.workspace.noShell.Error()),
			"A file with several hard links is replaced for one of its names: SFTP does not tell their number.")
	}
	return list
}

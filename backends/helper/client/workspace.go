package client

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// Workspace is an open folder behind a helper. Its methods may be called
// concurrently.
type Workspace struct {
	session   *session
	welcome   wire.Welcome
	mutations *ops.Mutations
	main      *view
}

// view is a working folder and a root.
type view struct {
	*session
	workspace *Workspace
	number    uint32
	opened    wire.OpenReply
}

// Open starts a helper and opens the folder. A folder that can't be used is a
// *ops.TransportError of KindUnavailable; errors of Dial are returned as they are.
func Open(ctx context.Context, o Options) (*Workspace, error) {
	o = o.withDefaults()
	s := newSession(o)
	w := &Workspace{session: s}
	if err := w.start(ctx); err != nil {
		s.close(ctx)
		return nil, err
	}
	return w, nil
}

// start opens two views in one round trip: the one that was asked for, and one of
// everything, in which the queue of changes names files.
func (w *Workspace) start(ctx context.Context) error {
	s := w.session
	c, err := s.conn(ctx)
	if err != nil {
		return err
	}
	s.opens = 2
	all := make(chan error, 1)
	main := make(chan error, 1)
	var opened [2]wire.OpenReply
	first := wire.OpenRequest{Dir: s.options.Dir, Root: s.options.Root, Extra: s.options.ExtraRoots}
	whole := wire.OpenRequest{Dir: "/", Root: "/", Extra: s.options.ExtraRoots}
	go func() { main <- c.do(ctx, request{method: wire.MethodOpen, body: &first, result: &opened[0]}) }()
	go func() { all <- c.do(ctx, request{method: wire.MethodOpen, body: &whole, result: &opened[1]}) }()
	err, aerr := <-main, <-all
	if err == nil {
		err = aerr
	}
	if err == nil {
		w.welcome, err = c.greeted(ctx)
	}
	if err != nil {
		return s.explain(err)
	}
	if err := errors.Join(s.keep(opened[0].View, first), s.keep(opened[1].View, whole)); err != nil {
		return s.explain(err)
	}
	w.main = &view{s, w, opened[0].View, opened[0]}
	w.mutations = ops.NewMutations(files{&view{s, w, opened[1].View, opened[1]}}.Canonical)
	return nil
}

// Set returns the operations on the folder. They are valid until Close.
func (w *Workspace) Set() ops.Set { return w.main.set() }

// closeTimeout bounds the ending of what runs at the target.
const closeTimeout = 10 * time.Second

// Close ends what runs at the target, and the connection. It may be called more
// than once.
func (w *Workspace) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return w.CloseContext(ctx)
}

// CloseContext is Close that ctx bounds: what did not end until then ends when the
// helper finds that the connection is gone.
func (w *Workspace) CloseContext(ctx context.Context) error {
	w.session.close(ctx)
	return nil
}

func (v *view) set() ops.Set {
	f, o := files{v}, v.options
	set := ops.Set{
		Target: ops.Target{
			Label: o.Label + strings.TrimSuffix(v.opened.Dir, "/"), Backend: o.Backend, OS: v.workspace.welcome.OS, Home: v.workspace.welcome.Home,
			Dir: v.opened.Dir, Root: v.opened.Root, Roots: v.opened.Extra, Confinement: confinement(v.opened.Root), Weaker: v.opened.Weaker,
		},
		Read: f, Write: f, Edit: f, Ls: f, Find: f, Grep: f,
		Mutations: v.workspace.mutations,
		At:        v.at,
	}
	if !v.opened.NoCommands {
		set.Bash, set.PowerShell = shell{v}, shell{v}
	}
	return set
}

func confinement(root string) ops.Confinement {
	if root == "/" {
		return ""
	}
	return ops.ByDescriptor
}

// atTimeout bounds the opening of another folder.
const atTimeout = 30 * time.Second

// at opens another folder of the workspace.
func (v *view) at(dir, root string) (ops.Set, error) {
	ctx, cancel := context.WithTimeout(context.Background(), atTimeout)
	defer cancel()
	if root == "" {
		root = dir
	}
	next := &view{session: v.session, workspace: v.workspace}
	req := wire.OpenRequest{Dir: dir, Root: root, Extra: v.options.ExtraRoots}
	v.mu.Lock()
	v.opens++
	v.mu.Unlock()
	if err := v.read(ctx, request{method: wire.MethodOpen, body: &req, result: &next.opened}); err != nil {
		return ops.Set{}, err
	}
	next.number = next.opened.View
	if err := v.keep(next.number, req); err != nil {
		return ops.Set{}, v.explain(err)
	}
	return next.set(), nil
}

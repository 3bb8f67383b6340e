//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/backends/local"
	"github.com/piremote/piremote/tools/ops"
)

// itemBytes is about how much of a listing or a search goes into one item.
const itemBytes = 32 << 10

func open(k *call, m *wire.OpenRequest) (wire.Message, error) {
	return k.conn.session.open(k.ctx, m.Dir, m.Root, m.Extra)
}

// set returns the operations of a view.
func (k *call) set(view uint32) (ops.Set, error) { return k.conn.session.view(view) }

func access(k *call, m *wire.PathRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, err
	}
	return nil, set.Read.Access(k.ctx, m.Path)
}

// maxPart bounds the part of a file that one request may ask for.
const maxPart = 8 << 20

func read(k *call, m *wire.ReadRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, err
	}
	r, ok := set.Read.(local.PartReader)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	p, err := r.ReadPart(k.ctx, m.Path, m.Offset, min(m.Length, maxPart))
	if err != nil {
		return nil, err
	}
	version := wire.FileVersion{ID: p.Info.ID, Size: p.Size, Modified: p.Info.Modified}
	switch {
	case m.Limit > 0 && max(p.Size, m.Offset+int64(len(p.Data))) > m.Limit:
		err = ops.ErrTooLarge
	case m.Same != nil && (m.Same.ID != version.ID || m.Same.Size != version.Size || !m.Same.Modified.Equal(version.Modified)):
		err = ops.ErrChanged
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: m.Path, Err: err}
	}
	return &wire.ReadReply{Version: version, End: p.End, Data: p.Data}, nil
}

func readWindow(k *call, m *wire.WindowRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, err
	}
	r, ok := set.Read.(ops.WindowReader)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	w, err := r.ReadWindow(k.ctx, m.Path, m.Window)
	return &wire.WindowReply{Window: w}, err
}

func stat(k *call, m *wire.PathRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, err
	}
	info, err := set.Ls.Stat(k.ctx, m.Path)
	if err != nil {
		return nil, err
	}
	id, _ := info.Sys().(ops.FileID)
	return &wire.StatReply{Info: ops.FileInfo{
		FileName: info.Name(), FileSize: info.Size(), FileMode: info.Mode(), Modified: info.ModTime(), ID: id,
	}}, nil
}

func readDir(k *call, m *wire.PathRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, err
	}
	var part wire.Entries
	out := batch[wire.Entries]{call: k, part: &part}
	if err := set.Ls.ReadDir(k.ctx, m.Path, func(e fs.DirEntry) bool {
		part.List = append(part.List, ops.DirEntry{EntryName: e.Name(), EntryType: e.Type()})
		return out.added(len(e.Name()))
	}); err != nil {
		return nil, err
	}
	return nil, out.flush()
}

func canonical(k *call, m *wire.PathRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, err
	}
	c, ok := set.Read.(ops.Canonicalizer)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	p, err := c.Canonical(k.ctx, m.Path)
	return &wire.PathReply{Path: p}, err
}

func mkdirAll(k *call, m *wire.PathRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, err
	}
	return nil, set.Write.MkdirAll(k.ctx, m.Path)
}

func search(k *call, m *wire.SearchRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, err
	}
	s, ok := set.Grep.(ops.Searcher)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	var part wire.Lines
	out := batch[wire.Lines]{call: k, part: &part}
	report, err := s.Search(k.ctx, m.Search, func(l ops.SearchLine) bool {
		part.List = append(part.List, l)
		return out.added(len(l.Path) + len(l.Text))
	})
	return &wire.SearchReply{Report: report}, errors.Join(err, out.flush())
}

func glob(k *call, m *wire.GlobRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, err
	}
	g, ok := set.Find.(ops.Globber)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	var part wire.Paths
	out := batch[wire.Paths]{call: k, part: &part}
	report, err := g.Glob(k.ctx, m.Glob, func(p string) bool {
		part.List = append(part.List, p)
		return out.added(len(p))
	})
	return &wire.SearchReply{Report: report}, errors.Join(err, out.flush())
}

// batch sends what is found in items of a reasonable size.
type batch[T any] struct {
	call *call
	part *T
	size int
	err  error
}

// added counts an element that was put into the part; false asks to stop.
func (b *batch[T]) added(size int) bool {
	const overhead = 8
	if b.size += size + overhead; b.size >= itemBytes {
		b.err = b.flush()
	}
	return b.err == nil
}

func (b *batch[T]) flush() error {
	if b.err != nil || b.size == 0 {
		return b.err
	}
	m, _ := any(b.part).(wire.Message)
	b.err = b.call.item(m)
	var empty T
	*b.part, b.size = empty, 0
	return b.err
}

// view returns the operations of a view.
func (s *session) view(n uint32) (ops.Set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n == 0 || int(n) > len(s.views) {
		return ops.Set{}, fmt.Errorf("%w: there is no view %d", wire.ErrProtocol, n)
	}
	return s.views[n-1].set, nil
}

// open opens a view, or returns the one that is open.
func (s *session) open(ctx context.Context, dir, root string, extra []ops.Root) (*wire.OpenReply, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if root == "" {
		root = dir
	}
	key := folders{dir, root}
	s.mu.Lock()
	for i, v := range s.views {
		if v.asked == key {
			s.mu.Unlock()
			return reply(i, v.set), nil
		}
	}
	s.mu.Unlock()
	set, err := s.newSet(ctx, s.tilde(dir), s.tilde(root), extra)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views = append(s.views, view{key, set})
	return reply(len(s.views)-1, set), nil
}

func reply(i int, set ops.Set) *wire.OpenReply {
	return &wire.OpenReply{
		View: uint32(i) + 1, Dir: set.Target.Dir, Root: set.Target.Root, Extra: set.Target.Roots, Weaker: set.Target.Weaker, NoCommands: set.Bash == nil, //nolint:gosec // few
	}
}

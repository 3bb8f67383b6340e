package client

import (
	"context"
	"errors"
	"io/fs"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// files are the file operations of a view.
type files struct{ *view }

// What is offered.
var (
	_ ops.EditOperations  = files{}
	_ ops.WriteOperations = files{}
	_ ops.GrepOperations  = files{}
	_ ops.Canonicalizer   = files{}
	_ ops.WindowReader    = files{}
	_ ops.Opener          = files{}
	_ ops.Searcher        = files{}
	_ ops.Globber         = files{}
	_ ops.Editor          = files{}
	_ ops.TreeWriter      = files{}
	_ ops.Replacer        = files{}
)

// errStop ends a call whose caller wants no more items.
var errStop = errors.New("enough")

func (f files) path(p string) *wire.PathRequest { return &wire.PathRequest{View: f.number, Path: p} }

// Access implements ops.ReadOperations.
func (f files) Access(ctx context.Context, path string) error {
	return f.read(ctx, request{method: wire.MethodAccess, body: f.path(path)})
}

// ReadWindow implements ops.WindowReader.
func (f files) ReadWindow(ctx context.Context, path string, req ops.WindowRequest) (ops.Window, error) {
	var r wire.WindowReply
	err := f.read(ctx, request{
		method: wire.MethodReadWindow, body: &wire.WindowRequest{View: f.number, Path: path, Window: req}, result: &r,
		limit: int64(req.MaxBytes) + ops.WindowHead + wire.MaxPayload,
	})
	return r.Window, err
}

// Stat implements ops.LsOperations.
func (f files) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	var r wire.StatReply
	if err := f.read(ctx, request{method: wire.MethodStat, body: f.path(path), result: &r}); err != nil {
		return nil, err
	}
	return r.Info, nil
}

// ReadDir implements ops.LsOperations.
func (f files) ReadDir(ctx context.Context, path string, yield func(fs.DirEntry) bool) error {
	return f.stream(ctx, request{method: wire.MethodReadDir, body: f.path(path)}, func(b []byte) error {
		var part wire.Entries
		if err := wire.Decode(b, &part); err != nil {
			return err
		}
		for _, e := range part.List {
			if !yield(e) {
				return errStop
			}
		}
		return nil
	})
}

// stream makes a call with items; who has enough of them ends it without error.
func (f files) stream(ctx context.Context, r request, each func(b []byte) error) error {
	r.each = each
	if err := f.read(ctx, r); !errors.Is(err, errStop) {
		return err
	}
	return nil
}

// Canonical implements ops.Canonicalizer.
func (f files) Canonical(ctx context.Context, path string) (string, error) {
	var r wire.PathReply
	err := f.read(ctx, request{method: wire.MethodCanonical, body: f.path(path), result: &r})
	return r.Path, err
}

// Search implements ops.Searcher.
func (f files) Search(ctx context.Context, req ops.SearchRequest, yield func(ops.SearchLine) bool) (ops.SearchReport, error) {
	var r wire.SearchReply
	err := f.stream(ctx, request{method: wire.MethodSearch, body: &wire.SearchRequest{View: f.number, Search: req}, result: &r},
		func(b []byte) error {
			var part wire.Lines
			if err := wire.Decode(b, &part); err != nil {
				return err
			}
			for _, l := range part.List {
				if !yield(l) {
					return errStop
				}
			}
			return nil
		})
	return r.Report, err
}

// Glob implements ops.Globber.
func (f files) Glob(ctx context.Context, req ops.GlobRequest, yield func(string) bool) (ops.SearchReport, error) {
	var r wire.SearchReply
	err := f.stream(ctx, request{method: wire.MethodGlob, body: &wire.GlobRequest{View: f.number, Glob: req}, result: &r},
		func(b []byte) error {
			var part wire.Paths
			if err := wire.Decode(b, &part); err != nil {
				return err
			}
			for _, p := range part.List {
				if !yield(p) {
					return errStop
				}
			}
			return nil
		})
	return r.Report, err
}

// MkdirAll implements ops.WriteOperations. Done twice it is done once.
func (f files) MkdirAll(ctx context.Context, dir string) error {
	return f.read(ctx, request{method: wire.MethodMkdirAll, body: f.path(dir), settle: lateAnswer})
}

// WriteFile implements ops.WriteOperations.
func (f files) WriteFile(ctx context.Context, path string, data []byte) (ops.WriteReport, error) {
	return f.write(ctx, wire.WriteRequest{Path: path, Mode: wire.WriteFile, Data: data})
}

// WriteTree implements ops.TreeWriter.
func (f files) WriteTree(ctx context.Context, path string, data []byte) (ops.WriteReport, error) {
	return f.write(ctx, wire.WriteRequest{Path: path, Mode: wire.WriteTree, Data: data})
}

// ReplaceFile implements ops.Replacer.
func (f files) ReplaceFile(ctx context.Context, path string, expect ops.Expect, data []byte) (ops.WriteReport, error) {
	return f.write(ctx, wire.WriteRequest{Path: path, Mode: wire.WriteSwap, Expect: expect, Data: data})
}

func (f files) write(ctx context.Context, m wire.WriteRequest) (ops.WriteReport, error) {
	m.View = f.number
	if len(m.Data) > maxWrite {
		return ops.WriteReport{}, &fs.PathError{Op: "write", Path: m.Path, Err: ops.ErrTooLarge}
	}
	var r wire.WriteReply
	spread := func(work func(c *conn)) { f.spread(ctx, int64(len(m.Data)), work) }
	err := f.change(ctx, request{method: wire.MethodWrite, body: &m, result: &r, spread: spread})
	return r.Report, err
}

// maxWrite is the largest content that can be written.
const maxWrite = wire.MaxUpload - 1<<20

// EditFile implements ops.Editor. An edit whose answer was lost with the process
// at the target is reported without its differences.
func (f files) EditFile(ctx context.Context, path string, req ops.EditRequest) (ops.EditReport, error) {
	var r wire.EditReply
	err := f.change(ctx, request{method: wire.MethodEdit, body: &wire.EditRequest{View: f.number, Path: path, Edit: req}, result: &r})
	return r.Report, err
}

package ssh

import (
	"context"
	"errors"
	"io/fs"

	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/backends/internal/redial"
	"github.com/piremote/piremote/tools/ops"
)

// The operations that are carried out here.
var (
	_ ops.EditOperations  = fileOps{}
	_ ops.WriteOperations = fileOps{}
	_ ops.GrepOperations  = fileOps{}
	_ ops.Canonicalizer   = fileOps{}
	_ ops.VersionReader   = fileOps{}
	_ ops.VersionWriter   = fileOps{}
	_ ops.WindowReader    = windowOps{}
	_ ops.Searcher        = searchOps{}
	_ ops.Globber         = searchOps{}
)

// fileOps are the file operations, by SFTP or by the shell, as FilesBy says.
// With SFTP, paths outside of the root are given to the engine, which knows the
// files with full outputs that it made there, and refuses all others.
type fileOps struct{ v *view }

// byShell runs a reading fn on the engine, and once more if the link broke.
func byShell[T any](ctx context.Context, f fileOps, fn func(*posix.Engine) (T, error)) (T, error) {
	v, err := fn(f.v.engine)
	if f.again(ctx, err) {
		v, err = fn(f.v.engine)
	}
	return v, f.read(err)
}

// again reports whether a read by the shell failed for the link alone, and another
// link may do.
func (f fileOps) again(ctx context.Context, err error) bool {
	return ctx.Err() == nil && ops.KindOf(err) == ops.KindOutcomeUnknown && !errors.Is(err, redial.ErrSilent)
}

// read makes an unknown outcome of a read what it is: nothing was changed.
func (f fileOps) read(err error) error {
	var t *ops.TransportError
	if errors.As(err, &t) && t.Kind == ops.KindOutcomeUnknown {
		return transport(ops.KindUnavailable, t.Target, err, "the connection to %s was lost", f.v.workspace.connection.hop.address())
	}
	return err
}

// shell reports whether the engine carries out what SFTP would, or answered err
// for a path outside of the root.
func (f fileOps) shell(err error) bool {
	return f.v.engine != nil && (f.v.files == nil || errors.Is(err, ops.ErrOutside))
}

// scripts reports whether the engine carries content, changes and listings.
func (f fileOps) scripts() bool { return f.v.files == nil || f.v.both }

// Access implements ops.ReadOperations in two round trips.
func (f fileOps) Access(ctx context.Context, path string) (err error) {
	if f.v.files != nil {
		err = f.v.files.Access(ctx, path)
	}
	if f.shell(err) {
		_, err = byShell(ctx, f, func(e *posix.Engine) (struct{}, error) { return struct{}{}, e.Access(ctx, path) })
	}
	return err
}

// ReadFile implements ops.ReadOperations in three round trips.
func (f fileOps) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	data, _, err := f.ReadVersion(ctx, path, limit)
	return data, err
}

// ReadVersion implements ops.VersionReader likewise.
func (f fileOps) ReadVersion(ctx context.Context, path string, limit int64) (data []byte, v ops.Version, err error) {
	if !f.scripts() {
		data, v, err = f.v.files.ReadVersion(ctx, path, limit)
	}
	if f.scripts() || f.shell(err) {
		data, err = byShell(ctx, f, func(e *posix.Engine) (data []byte, err error) {
			data, v, err = e.ReadVersion(ctx, path, limit)
			return data, err
		})
	}
	return data, v, err
}

// Stat implements ops.LsOperations in one round trip.
func (f fileOps) Stat(ctx context.Context, path string) (info fs.FileInfo, err error) {
	if f.v.files != nil {
		info, err = f.v.files.Stat(ctx, path)
	}
	if f.shell(err) {
		return byShell(ctx, f, func(e *posix.Engine) (fs.FileInfo, error) { return e.Stat(ctx, path) })
	}
	return info, err
}

// ReadDir implements ops.LsOperations: by the shell in three round trips however
// long the listing is.
func (f fileOps) ReadDir(ctx context.Context, path string, yield func(fs.DirEntry) bool) error {
	if !f.scripts() {
		return f.v.files.ReadDir(ctx, path, yield)
	}
	_, err := byShell(ctx, f, func(e *posix.Engine) (struct{}, error) { return struct{}{}, e.ReadDir(ctx, path, yield) })
	return err
}

// MkdirAll implements ops.WriteOperations.
func (f fileOps) MkdirAll(ctx context.Context, dir string) error {
	w, err := f.changer("mkdir", dir)
	if err != nil {
		return err
	}
	return w.MkdirAll(ctx, dir)
}

// WriteFile implements ops.WriteOperations: by the shell in three round trips.
func (f fileOps) WriteFile(ctx context.Context, path string, data []byte) (ops.WriteReport, error) {
	w, err := f.changer("write", path)
	if err != nil {
		return ops.WriteReport{}, err
	}
	return w.WriteFile(ctx, path, data)
}

// WriteVersion implements ops.VersionWriter likewise.
func (f fileOps) WriteVersion(ctx context.Context, path string, v ops.Version, data []byte) (ops.WriteReport, error) {
	w, err := f.changer("write", path)
	if err != nil {
		return ops.WriteReport{}, err
	}
	return w.WriteVersion(ctx, path, v, data)
}

// changer is what makes changes of files.
type changer interface {
	ops.WriteOperations
	ops.VersionWriter
}

// changer returns what makes a change, unless none may be made that way.
func (f fileOps) changer(op, path string) (changer, error) {
	if f.scripts() {
		return f.v.engine, nil
	}
	return f.v.files, f.v.strict(op, path)
}

// Canonical implements ops.Canonicalizer in one round trip.
func (f fileOps) Canonical(ctx context.Context, path string) (string, error) {
	if f.v.files != nil {
		return f.v.files.Canonical(ctx, path)
	}
	return byShell(ctx, f, func(e *posix.Engine) (string, error) { return e.Canonical(ctx, path) })
}

// windowOps adds reading of some lines by the shell.
type windowOps struct{ fileOps }

// ReadWindow implements ops.WindowReader.
func (o windowOps) ReadWindow(ctx context.Context, path string, req ops.WindowRequest) (ops.Window, error) {
	return byShell(ctx, o.fileOps, func(e *posix.Engine) (ops.Window, error) { return e.ReadWindow(ctx, path, req) })
}

// searchOps adds searching by the shell.
type searchOps struct{ fileOps }

// Search implements ops.Searcher. It is repeated once if the link broke before
// anything was found.
func (o searchOps) Search(ctx context.Context, req ops.SearchRequest, yield func(ops.SearchLine) bool) (ops.SearchReport, error) {
	some := false
	report, err := o.v.engine.Search(ctx, req, func(l ops.SearchLine) bool {
		some = true
		return yield(l)
	})
	if !some && o.again(ctx, err) {
		report, err = o.v.engine.Search(ctx, req, yield)
	}
	return report, o.read(err)
}

// Glob implements ops.Globber, likewise.
func (o searchOps) Glob(ctx context.Context, req ops.GlobRequest, yield func(string) bool) (ops.SearchReport, error) {
	some := false
	report, err := o.v.engine.Glob(ctx, req, func(p string) bool {
		some = true
		return yield(p)
	})
	if !some && o.again(ctx, err) {
		report, err = o.v.engine.Glob(ctx, req, yield)
	}
	return report, o.read(err)
}

package opstest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"unicode/utf8"

	"github.com/piremote/piremote/tools/ops"
)

func (v view) Access(ctx context.Context, p string) error {
	_, _, err := v.content(ctx, "access", p)
	return err
}

// content returns the bytes of a regular file that may be read.
func (v view) content(ctx context.Context, op, p string) ([]byte, ops.Version, error) {
	if err := ctx.Err(); err != nil {
		return nil, ops.Version{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.read(op, p)
}

// read is content. The lock is held.
func (v view) read(op, p string) ([]byte, ops.Version, error) {
	at, err := v.regular(op, p)
	if err != nil {
		return nil, ops.Version{}, err
	}
	if at.node.mode.Perm()&0o444 == 0 {
		return nil, ops.Version{}, pathError(op, p, fs.ErrPermission)
	}
	return at.node.data, at.node.version(), nil // data is replaced, never changed
}

func (v view) ReadFile(ctx context.Context, p string, limit int64) ([]byte, error) {
	data, _, err := v.ReadVersion(ctx, p, limit)
	return data, err
}

func (v view) ReadVersion(ctx context.Context, p string, limit int64) ([]byte, ops.Version, error) {
	data, version, err := v.content(ctx, "read", p)
	if err == nil && limit > 0 && int64(len(data)) > limit {
		err = pathError("read", p, ops.ErrTooLarge)
	}
	if err != nil {
		return nil, ops.Version{}, err
	}
	return append([]byte{}, data...), version, nil
}

func (v view) Open(ctx context.Context, p string) (io.ReadCloser, error) {
	data, _, err := v.content(ctx, "open", p)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (v view) ReadWindow(ctx context.Context, p string, req ops.WindowRequest) (ops.Window, error) {
	data, version, err := v.content(ctx, "read", p)
	if err != nil {
		return ops.Window{}, err
	}
	win := ops.Window{Size: int64(len(data)), Version: version, Head: append([]byte{}, data[:min(len(data), ops.WindowHead)]...)}
	closed := false
	for _, line := range bytes.SplitAfter(data, []byte("\n")) {
		if len(line) == 0 {
			break
		}
		win.TotalLines++
		if win.TotalLines < req.Offset || closed || win.Lines == req.Limit {
			continue
		}
		if len(win.Data)+len(line) > req.MaxBytes {
			if closed = true; win.Lines == 0 {
				win.LineBytes = int64(len(line))
			}
			continue
		}
		win.Data = append(win.Data, line...)
		win.Lines++
	}
	win.Invalid = !utf8.Valid(win.Data)
	return win, nil
}

func (v view) MkdirAll(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, err := v.find("mkdir", dir, true); err != nil {
		return err
	}
	return v.mkdirAll(dir)
}

// mkdirAll makes the missing folders of a path. The lock is held.
func (m *Memory) mkdirAll(dir string) error {
	for range maxHops {
		at, err := m.walk(dir, true)
		if err != nil {
			return pathError("mkdir", dir, err)
		}
		if at.notDir || at.node != nil && !at.node.isDir() {
			return pathError("mkdir", dir, ops.ErrNotDir)
		}
		if at.node != nil {
			return nil
		}
		// Make the topmost missing folder, then look again.
		top := at.canonical
		for up := path.Dir(top); ; up = path.Dir(up) {
			above, err := m.walk(up, false)
			if err != nil {
				return pathError("mkdir", dir, err)
			}
			if above.node != nil {
				above.node.children[path.Base(top)] = m.newNode(fs.ModeDir | 0o755)
				break
			}
			top = up
		}
	}
	return m.mkdirAll(dir)
}

func (v view) WriteFile(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
	if err := ctx.Err(); err != nil {
		return ops.WriteReport{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.write(p, data)
}

// write is WriteFile. The lock is held.
func (v view) write(p string, data []byte) (ops.WriteReport, error) {
	at, err := v.writable("write", p)
	if err != nil {
		return ops.WriteReport{}, err
	}
	report := ops.WriteReport{Path: at.canonical}
	n := at.node
	if n == nil {
		n, report.Created = v.newNode(0o644), true
	} else if n.links > 1 {
		report.InPlace = "the file has several names"
	}
	if err := v.store(n, data); err != nil {
		return ops.WriteReport{}, pathError("write", p, err)
	}
	at.parent.children[at.name] = n
	report.Version = n.version()
	return report, nil
}

// maxName is the length in bytes of a file's name at most.
const maxName = 255

var errNameTooLong = errors.New("file name too long")

// writable finds a file that may be written, or the place of one that may be
// made.
func (v view) writable(op, p string) (place, error) {
	at, err := v.find(op, p, true)
	if err != nil {
		return place{}, err
	}
	switch {
	case at.notDir:
		err = ops.ErrNotDir
	case at.node == nil && at.missing > 1:
		err = fs.ErrNotExist
	case at.node == nil && len(at.name) > maxName:
		err = errNameTooLong
	case at.node == nil:
	case at.node.isDir():
		err = ops.ErrIsDir
	case !at.node.mode.IsRegular():
		err = ops.ErrNotRegular
	case at.node.mode.Perm()&0o222 == 0:
		err = fs.ErrPermission
	}
	if err != nil {
		return place{}, pathError(op, p, err)
	}
	return at, nil
}

func (v view) Stat(ctx context.Context, p string) (fs.FileInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	at, err := v.existing("stat", p, true)
	if err != nil {
		return nil, err
	}
	return at.node.info(path.Base(p)), nil
}

func (v view) ReadDir(ctx context.Context, p string, yield func(fs.DirEntry) bool) error {
	entries, err := v.entries(ctx, p)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !yield(e) {
			return nil
		}
	}
	return nil
}

func (v view) entries(ctx context.Context, p string) ([]ops.DirEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	at, err := v.existing("readdir", p, true)
	if err != nil {
		return nil, err
	}
	if !at.node.isDir() {
		return nil, pathError("readdir", p, ops.ErrNotDir)
	}
	var entries []ops.DirEntry
	for name, n := range at.node.children {
		entries = append(entries, ops.DirEntry{EntryName: name, EntryType: n.mode.Type()})
	}
	return entries, nil
}

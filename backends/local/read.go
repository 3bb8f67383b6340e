package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/piremote/piremote/backends/internal/largebuf"
	"github.com/piremote/piremote/tools/ops"
)

// readBlock is how much is read at once; ctx is looked at in between.
const readBlock = 256 << 10

// Access fails unless path is a regular file that can be read.
func (e engine) Access(ctx context.Context, path string) error {
	f, _, err := e.openFile(ctx, path)
	if err != nil {
		return e.fail("access", path, err)
	}
	return e.fail("access", path, f.Close())
}

// Open streams a regular file.
func (e engine) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	if f := e.fileBeneath(ctx, path); f != nil {
		return f, nil
	}
	f, _, err := e.openFile(ctx, path)
	if err != nil {
		return nil, e.fail("open", path, err)
	}
	return stream{f, e.view, path}, nil
}

// stream gives the errors of a file the shape of the contract.
type stream struct {
	file *os.File
	view *view
	path string
}

func (s stream) Read(p []byte) (int, error) {
	n, err := s.file.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.view.fail("read", s.path, err)
	}
	return n, err
}

func (s stream) Close() error { return s.view.fail("close", s.path, s.file.Close()) }

// ReadFile returns the whole content of a regular file.
func (e engine) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	leave, err := e.ws.files.enter(ctx)
	if err != nil {
		return nil, e.fail("read", path, err)
	}
	defer leave()
	f, info, err := e.openFile(ctx, path)
	if err != nil {
		return nil, e.fail("read", path, err)
	}
	defer func() { _ = f.Close() }()
	data, err := readAll(ctx, f, info, limit)
	if err != nil {
		return nil, e.fail("read", path, err)
	}
	return data, nil
}

func readAll(ctx context.Context, f *os.File, info fs.FileInfo, limit int64) ([]byte, error) {
	size := info.Size()
	if limit > 0 && size > limit {
		return nil, ops.ErrTooLarge
	}
	data := largebuf.Make(int(max(size+1, 512)))[:0] // one more, so that the end is seen without growing
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := f.Read(data[len(data):min(cap(data), len(data)+readBlock)])
		data = data[:len(data)+n]
		if limit > 0 && int64(len(data)) > limit {
			return nil, ops.ErrTooLarge
		}
		if errors.Is(err, io.EOF) {
			return data, shortRead(f, int64(len(data)), info)
		}
		if err != nil {
			return nil, err
		}
	}
}

// shortRead is the error of a file that ended before its size. A file that was
// cut meanwhile may be read in part old and in part new. The files of /sys claim
// a page, have no blocks, and end where their content does.
func shortRead(f *os.File, n int64, info fs.FileInfo) error {
	if n >= info.Size() || virtual(info) {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if now.Size() != info.Size() {
		return ops.ErrChanged
	}
	return io.ErrUnexpectedEOF
}

// openFile opens a regular file for reading. Anything else is an error, and
// never blocks (hazard READ-03).
func (v *view) openFile(ctx context.Context, path string) (*os.File, fs.FileInfo, error) {
	f, info, err := v.openAny(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case info.Mode().IsRegular():
		return f, info, nil
	case info.IsDir():
		err = ops.ErrIsDir
	default:
		err = ops.ErrNotRegular
	}
	_ = f.Close()
	return nil, nil, err
}

// openAny opens a file or folder for reading.
func (v *view) openAny(ctx context.Context, path string) (*os.File, fs.FileInfo, error) {
	if f, err := v.ws.spills.open(path); err != nil {
		return nil, nil, err
	} else if f != nil {
		return statOpen(f)
	}
	var f *os.File
	err := v.reach(ctx, path, func(at place) (err error) {
		f, err = at.root.openFile(at.name, readFlags, 0)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return statOpen(f)
}

func statOpen(f *os.File) (*os.File, fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Stat follows links; Sys of the result is an ops.FileID where known.
func (e engine) Stat(ctx context.Context, path string) (fs.FileInfo, error) {
	if f, err := e.ws.spills.open(path); err != nil {
		return nil, e.fail("stat", path, err)
	} else if f != nil {
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil {
			return nil, e.fail("stat", path, err)
		}
		return plainInfo(path, info), nil
	}
	var info fs.FileInfo
	err := e.reach(ctx, path, func(at place) (err error) {
		info, err = at.root.stat(at.name)
		return err
	})
	if err != nil {
		return nil, e.fail("stat", path, err)
	}
	return plainInfo(path, info), nil
}

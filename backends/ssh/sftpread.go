package ssh

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/pkg/sftp"

	"github.com/piremote/piremote/tools/ops"
)

// sftpFiles carries files by SFTP, in one folder and root.
type sftpFiles struct {
	clients *sftpClients
	walker  walker
	runner  *runner // nil if the host has no shell
}

// failure puts an error into the form of the contract: cancellation and faults
// of the way stay, anything else is a *fs.PathError.
func failure(ctx context.Context, op, name string, err error) error {
	var pe *fs.PathError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)),
		ops.KindOf(err) != "", errors.As(err, &pe):
		return err
	}
	return pathError(op, name, err)
}

// regular follows name to a regular file. Anything else is refused before it is
// opened: opening a FIFO would hold up the server (hazard READ-03).
func (f *sftpFiles) regular(ctx context.Context, s *sftpSession, name string) (place, error) {
	p, err := f.walker.follow(ctx, s, name)
	switch {
	case err != nil:
		return p, err
	case p.info == nil:
		return p, fs.ErrNotExist
	case p.info.IsDir():
		return p, ops.ErrIsDir
	case !p.info.Mode().IsRegular():
		return p, ops.ErrNotRegular
	}
	return p, nil
}

// Access opens the file and closes it.
func (f *sftpFiles) Access(ctx context.Context, name string) error {
	_, err := retry(ctx, f.clients, func(ctx context.Context, s *sftpSession) (struct{}, error) {
		p, err := f.regular(ctx, s, name)
		if err != nil {
			return struct{}{}, err
		}
		file, err := openFile(ctx, s, p.path, os.O_RDONLY)
		if err == nil {
			go func() { _ = file.Close() }() // nobody waits for the answer
		}
		return struct{}{}, err
	})
	return failure(ctx, "open", name, err)
}

func openFile(ctx context.Context, s *sftpSession, name string, flag int) (*sftp.File, error) {
	file, err := call(ctx, s, func(c *sftp.Client) (*sftp.File, error) { return c.OpenFile(name, flag) })
	if err != nil && !s.lost(err) && ctx.Err() == nil {
		err = sftpError(err)
	}
	return file, err
}

// ReadFile reads a regular file: one round trip for the path, one to open, one
// for data, size and a second look at the path, and more only for what exceeds
// the pipeline.
func (f *sftpFiles) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	data, _, err := f.ReadVersion(ctx, name, limit)
	return data, err
}

// ReadVersion is ReadFile; the version is that of the path's first look.
func (f *sftpFiles) ReadVersion(ctx context.Context, name string, limit int64) ([]byte, ops.Version, error) {
	var v ops.Version
	data, err := retry(ctx, f.clients, func(ctx context.Context, s *sftpSession) ([]byte, error) {
		p, err := f.regular(ctx, s, name)
		if err != nil {
			return nil, err
		}
		if limit > 0 && p.info.Size() > limit {
			return nil, ops.ErrTooLarge
		}
		v = versionOf(p.info)
		file, err := openFile(ctx, s, p.path, os.O_RDONLY)
		if err != nil {
			return nil, err
		}
		defer func() { go func() { _ = file.Close() }() }()
		again := make(chan error, 1)
		go func() { again <- f.same(ctx, s, p) }()
		data, err := readAll(ctx, s, file, p.info.Size(), limit)
		if moved := <-again; moved != nil && err == nil {
			err = moved
		}
		return data, err
	})
	return data, v, failure(ctx, "read", name, err)
}

// same checks that a path still leads to itself after it was opened: a link that
// was swapped in meanwhile is noticed unless it is swapped back as quickly
// (hazard CONF-04).
func (f *sftpFiles) same(ctx context.Context, s *sftpSession, p place) error {
	now, err := walker{}.follow(ctx, s, p.path)
	switch {
	case err != nil && (s.lost(err) || ctx.Err() != nil):
		return err
	case err != nil || now.path != p.path || now.info == nil || now.info.Mode().Type() != p.info.Mode().Type():
		return ops.ErrChanged
	}
	return nil
}

// readBlock is how much is asked for in one call of the library, which keeps the
// link busy within it and lets it run dry at its end.
const readBlock = 16 << 20

// readAll reads a file to its end.
//
// The library takes a short answer for the end of the file (hazard SFTP-04), so
// the end is believed only when as much was read as the file is long, or when
// nothing at all comes at the running offset.
func readAll(ctx context.Context, s *sftpSession, file *sftp.File, guess, limit int64) ([]byte, error) {
	size := int64(-1) // as the open file says
	sized := make(chan int64, 1)
	go func() {
		n := int64(-1)
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			n = info.Size()
		}
		sized <- n
	}()
	buf := make([]byte, 0, min(max(guess, 1), readBlock))
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, growth(int64(len(buf)), guess))
		}
		next := buf[len(buf):min(cap(buf), len(buf)+readBlock)]
		type part struct{ n int }
		got, err := call(ctx, s, func(*sftp.Client) (part, error) {
			n, err := file.ReadAt(next, int64(len(buf)))
			return part{n}, err
		})
		buf = buf[:len(buf)+got.n]
		if sized != nil && (err == nil || errors.Is(err, io.EOF)) {
			select {
			case size = <-sized:
			case <-ctx.Done():
				return nil, ended(ctx)
			case <-s.done:
				return nil, errBroken
			}
			sized = nil
		}
		switch {
		case limit > 0 && int64(len(buf)) > limit:
			return nil, ops.ErrTooLarge
		case err != nil && !errors.Is(err, io.EOF):
			if s.lost(err) || ctx.Err() != nil {
				return nil, err
			}
			return nil, sftpError(err)
		case size > 0 && int64(len(buf)) == size: // no need to ask for the end
			return buf, nil
		case errors.Is(err, io.EOF) && got.n == 0:
			return buf, short(size, int64(len(buf)))
		case got.n == 0:
			return nil, io.ErrNoProgress
		}
	}
}

// growth is by how much a buffer of n bytes grows for a file that is said to have
// size bytes. A claim is believed as far as an eighth of it has come.
func growth(n, size int64) int {
	if size > n && size <= 8*n {
		return int(size - n)
	}
	return int(max(n, 32<<10))
}

// short is the error of a file that ended before its size. Files of /sys claim
// one page and hold less.
func short(size, n int64) error {
	if n < size && size != 4096 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// Stat follows links. It takes one round trip where there are none.
func (f *sftpFiles) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	info, err := retry(ctx, f.clients, func(ctx context.Context, s *sftpSession) (fs.FileInfo, error) {
		p, err := f.walker.follow(ctx, s, name)
		if err == nil && p.info == nil {
			err = fs.ErrNotExist
		}
		return p.info, err
	})
	if err != nil {
		return nil, failure(ctx, "stat", name, err)
	}
	return ops.FileInfo{
		FileName: path.Base(path.Clean(name)), FileSize: info.Size(), FileMode: info.Mode(), Modified: info.ModTime(),
	}, nil
}

// ReadDir lists a folder. The listing is complete before the first entry is
// yielded, so that it can be repeated if the session was lost.
func (f *sftpFiles) ReadDir(ctx context.Context, name string, yield func(fs.DirEntry) bool) error {
	list, err := retry(ctx, f.clients, func(ctx context.Context, s *sftpSession) ([]fs.FileInfo, error) {
		p, err := f.walker.follow(ctx, s, name)
		switch {
		case err != nil:
			return nil, err
		case p.info == nil:
			return nil, fs.ErrNotExist
		case !p.info.IsDir():
			return nil, ops.ErrNotDir
		}
		list, err := call(ctx, s, func(c *sftp.Client) ([]fs.FileInfo, error) { return c.ReadDirContext(ctx, p.path) })
		if err != nil && !s.lost(err) && ctx.Err() == nil {
			err = sftpError(err)
		}
		return list, err
	})
	if err != nil {
		return failure(ctx, "open", name, err)
	}
	for _, e := range list {
		n := e.Name()
		if n == "" || n == "." || n == ".." || strings.ContainsAny(n, "/\x00") {
			continue // no name of a file (hazard CONF-08)
		}
		if !yield(ops.DirEntry{EntryName: n, EntryType: e.Mode().Type()}) {
			break
		}
	}
	return nil
}

// Canonical follows links; what does not exist is appended.
func (f *sftpFiles) Canonical(ctx context.Context, name string) (string, error) {
	p, err := retry(ctx, f.clients, func(ctx context.Context, s *sftpSession) (place, error) { return f.walker.follow(ctx, s, name) })
	return p.path, failure(ctx, "canonical", name, err)
}

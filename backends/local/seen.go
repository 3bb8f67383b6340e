package local

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// clockGrain is more than the clock of any file system takes for a step. What
// was changed that shortly ago may have changed again without a trace.
const clockGrain = 3 * time.Second

// seen is a file as it was read. It stays open, so that no other file gets its
// number meanwhile.
type seen struct {
	dir   *folder
	file  *os.File
	entry entry
	at    time.Time // when entry was taken, before data was read
	data  []byte
}

// read reads the regular file base of the folder as ReadFile would.
func (d *folder) read(ctx context.Context, base string, limit int64) (*seen, error) {
	f, err := d.open(base, readFlags)
	if errors.Is(sentinel(bare(err)), ops.ErrLoop) {
		return nil, errMoved // links are not followed here: it was none a moment ago
	}
	if err != nil {
		return nil, err
	}
	s := &seen{dir: d, file: f, at: time.Now()}
	if s.entry, err = d.stat(f); err == nil {
		switch {
		case s.entry.mode.IsDir():
			err = ops.ErrIsDir
		case !s.entry.mode.IsRegular():
			err = ops.ErrNotRegular
		default:
			var info fs.FileInfo
			if info, err = f.Stat(); err == nil {
				s.data, err = readAll(ctx, f, info, limit)
			}
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *seen) close() { _ = s.file.Close() }

// expected refuses to write in place of what the job does not expect.
func (j job) expected(now entry, missing bool) error {
	if j.fresh && !missing || j.seen != nil && (missing || !j.seen.entry.same(now)) {
		return ops.ErrChanged
	}
	return nil
}

// unchanged looks once more, right before the new file takes the name.
func (j job) unchanged() error {
	if j.seen == nil && !j.fresh {
		return nil
	}
	if j.seen != nil {
		if err := j.seen.sameBytes(); err != nil {
			return err
		}
	}
	now, err := j.dir.lstat(j.base)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	return j.expected(now, missing)
}

// still checks that an opened file is the one that was read.
func (s *seen) still(f *os.File) error {
	if s == nil {
		return nil
	}
	if err := s.sameBytes(); err != nil {
		return err
	}
	now, err := s.dir.stat(f)
	if err == nil && !s.entry.same(now) {
		err = ops.ErrChanged
	}
	return err
}

// sameBytes reads a file again that was changed shortly before it was read.
func (s *seen) sameBytes() error {
	if s.at.Sub(s.entry.changed()) > clockGrain {
		return nil
	}
	block := make([]byte, min(len(s.data)+1, readBlock))
	for rest := s.data; ; {
		n, err := s.file.ReadAt(block, int64(len(s.data)-len(rest)))
		if !bytes.HasPrefix(rest, block[:n]) {
			return ops.ErrChanged
		}
		rest = rest[n:]
		switch {
		case errors.Is(err, io.EOF) && len(rest) > 0:
			return ops.ErrChanged
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

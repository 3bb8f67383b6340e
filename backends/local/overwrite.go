package local

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/piremote/piremote/tools/ops"
)

// maxRestore is the size up to which the old bytes are held in memory while a
// file is written in place.
const maxRestore = 64 << 20

// overwrite writes a file in place, for reason. Room is reserved before the
// first byte changes; when writing fails all the same, the old bytes are put
// back. It is not interrupted once it has begun.
func (j job) overwrite(ctx context.Context, old entry, reason string) (ops.WriteReport, error) {
	if err := ctx.Err(); err != nil {
		return ops.WriteReport{}, err
	}
	f, err := j.dir.open(j.base, os.O_RDWR)
	if errors.Is(err, os.ErrPermission) {
		f, err = j.dir.open(j.base, os.O_WRONLY)
	}
	if err != nil {
		return ops.WriteReport{}, err
	}
	err = j.overwriteOpen(f, old)
	if cerr := f.Close(); err == nil && cerr != nil {
		err = unknown("The file was written in place, but could not be closed", cerr)
	}
	if err != nil {
		return ops.WriteReport{}, err
	}
	return ops.WriteReport{InPlace: reason}, nil
}

func (j job) overwriteOpen(f *os.File, old entry) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || !old.is(info) {
		return errMoved
	}
	if err := j.seen.still(f); err != nil {
		return err
	}
	size := info.Size()
	var before []byte
	restorable := false
	if size <= maxRestore {
		before = make([]byte, size)
		n, rerr := f.ReadAt(before, 0)
		restorable = int64(n) == size && (rerr == nil || errors.Is(rerr, io.EOF))
	}
	if err := reserve(f, int64(len(j.data)), size); err != nil {
		return noSpace(f, err, 0, len(j.data))
	}
	n, err := f.WriteAt(j.data, 0)
	if err == nil {
		err = f.Truncate(int64(len(j.data)))
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		return nil
	}
	err = noSpace(f, err, n, len(j.data))
	if restorable {
		_, werr := f.WriteAt(before, 0)
		restorable = errors.Join(werr, f.Truncate(size), f.Sync()) == nil
	}
	if !restorable {
		return unknown("Writing in place failed and the old bytes could not be put back", err)
	}
	return err
}

package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/piremote/piremote/tools/ops"
)

// Part is a piece of a regular file.
type Part struct {
	Data []byte
	End  bool // the file ends behind it
	// Size is what the file claims; one of size 0 may hold something (as in /proc).
	Size int64
	Info ops.FileInfo // of the file, as it was opened
}

// PartReader reads pieces of files, for who carries large ones elsewhere. The read
// operations of a workspace implement it.
type PartReader interface {
	// ReadPart returns at most length bytes from offset on. A file that shrinks
	// meanwhile is ops.ErrChanged.
	ReadPart(ctx context.Context, path string, offset, length int64) (Part, error)
}

var _ PartReader = engine{}

// ReadPart implements PartReader.
func (e engine) ReadPart(ctx context.Context, path string, offset, length int64) (Part, error) {
	leave, err := e.ws.files.enter(ctx)
	if err != nil {
		return Part{}, e.fail("read", path, err)
	}
	defer leave()
	f, info, err := e.openFile(ctx, path)
	if err != nil {
		return Part{}, e.fail("read", path, err)
	}
	defer func() { _ = f.Close() }()
	if offset < 0 || length < 0 {
		return Part{}, e.fail("read", path, fs.ErrInvalid)
	}
	p := Part{Size: info.Size(), Info: plainInfo(path, info)}
	p.Data, p.End, err = readPart(ctx, f, offset, length)
	if err == nil && p.End && offset+int64(len(p.Data)) < info.Size() {
		err = shortRead(f, offset+int64(len(p.Data)), info)
	}
	if err != nil {
		return Part{}, e.fail("read", path, err)
	}
	return p, nil
}

// readPart reads until length bytes are there or the file ends; only a read beyond
// the part tells that it ends just there.
func readPart(ctx context.Context, f *os.File, offset, length int64) (data []byte, end bool, err error) {
	left := int64(0)
	if info, err := f.Stat(); err == nil {
		left = max(info.Size()-offset, 0)
	}
	data = make([]byte, 0, max(min(left, length), 512)+1) // one more, so that the end is seen without growing
	for int64(len(data)) <= length {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		room := min(int64(cap(data)), length+1, int64(len(data)+readBlock))
		n, err := f.ReadAt(data[len(data):room], offset+int64(len(data)))
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return data[:length], false, nil
}

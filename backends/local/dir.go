package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/piremote/piremote/tools/ops"
)

// dirBatch is how many entries are asked for at once; ctx is looked at in
// between (hazard LS-04).
const dirBatch = 512

// ReadDir yields what the folder holds, except temporary files of writes that
// are under way or were interrupted (hazard WRIT-06).
func (e engine) ReadDir(ctx context.Context, path string, yield func(fs.DirEntry) bool) error {
	f, err := e.openDir(ctx, path)
	if err != nil {
		return e.fail("readdir", path, err)
	}
	defer func() { _ = f.Close() }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := f.ReadDir(dirBatch)
		for _, entry := range entries {
			if isTemp(entry.Name()) {
				continue
			}
			if !yield(ops.DirEntry{EntryName: entry.Name(), EntryType: entry.Type()}) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return e.fail("readdir", path, err)
		}
	}
}

func (v *view) openDir(ctx context.Context, path string) (*os.File, error) {
	if f := v.folderBeneath(ctx, path); f != nil {
		return f, nil
	}
	f, info, err := v.openAny(ctx, path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		_ = f.Close()
		return nil, ops.ErrNotDir
	}
	return f, nil
}

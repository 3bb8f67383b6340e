package steps

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/piremote/piremote/tools/ops"
)

// WriteTree is ops.TreeWriter by a write and, if folders are missing, by making
// them and a second write.
func WriteTree(ctx context.Context, files ops.WriteOperations, name string, data []byte) (ops.WriteReport, error) {
	report, err := files.WriteFile(ctx, name, data)
	if !errors.Is(err, fs.ErrNotExist) {
		return report, err
	}
	if err := files.MkdirAll(ctx, path.Dir(name)); err != nil {
		return ops.WriteReport{}, err
	}
	if report, err = files.WriteFile(ctx, name, data); err != nil {
		return ops.WriteReport{}, &ops.TreeError{Err: err}
	}
	return report, nil
}

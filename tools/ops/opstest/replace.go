package opstest

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
)

// The abilities that change a file in one step hold the tree's lock from its
// beginning to its end.

func (v view) EditFile(ctx context.Context, p string, req ops.EditRequest) (ops.EditReport, error) {
	if err := ctx.Err(); err != nil {
		return ops.EditReport{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	content, _, err := v.read("edit", p)
	if err == nil && req.Limit > 0 && int64(len(content)) > req.Limit {
		err = pathError("edit", p, ops.ErrTooLarge)
	}
	if err != nil {
		return ops.EditReport{}, err
	}
	data, report, err := steps.Apply(content, req)
	if err != nil {
		return ops.EditReport{}, err
	}
	if report.WriteReport, err = v.write(p, data); err != nil {
		return ops.EditReport{}, err
	}
	return report, nil
}

func (v view) WriteTree(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
	if err := ctx.Err(); err != nil {
		return ops.WriteReport{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	report, err := v.write(p, data)
	if !errors.Is(err, fs.ErrNotExist) {
		return report, err
	}
	if _, err := v.find("mkdir", path.Dir(p), true); err != nil {
		return ops.WriteReport{}, err
	}
	if err := v.mkdirAll(path.Dir(p)); err != nil {
		return ops.WriteReport{}, err
	}
	if report, err = v.write(p, data); err != nil {
		return ops.WriteReport{}, &ops.TreeError{Err: err}
	}
	return report, nil
}

func (v view) ReplaceFile(ctx context.Context, p string, expect ops.Expect, data []byte) (ops.WriteReport, error) {
	if err := ctx.Err(); err != nil {
		return ops.WriteReport{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	at, err := v.writable("replace", p)
	switch {
	case expect.Exists && errors.Is(err, fs.ErrNotExist):
		err = pathError("replace", p, ops.ErrChanged)
	case err == nil && !holds(expect, at):
		err = pathError("replace", p, ops.ErrChanged)
	}
	if err != nil {
		return ops.WriteReport{}, err
	}
	return v.write(p, data)
}

func (v view) WriteVersion(ctx context.Context, p string, version ops.Version, data []byte) (ops.WriteReport, error) {
	if err := ctx.Err(); err != nil {
		return ops.WriteReport{}, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	at, err := v.writable("write", p)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (at.node == nil || !version.Same(at.node.version())) {
		err = pathError("write", p, ops.ErrChanged)
	}
	if err != nil {
		return ops.WriteReport{}, err
	}
	return v.write(p, data)
}

// holds reports whether a place is as a caller expects it.
func holds(expect ops.Expect, at place) bool {
	if !expect.Exists || at.node == nil {
		return !expect.Exists && at.node == nil
	}
	return expect.Size == int64(len(at.node.data)) && expect.Hash == steps.Hash(at.node.data)
}

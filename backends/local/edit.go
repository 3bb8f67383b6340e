package local

import (
	"context"
	"errors"
	"io/fs"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
)

// EditFile reads, edits and replaces a file in one step; see ops.Editor (hazards
// MUTQ-04, MUTQ-05).
func (e engine) EditFile(ctx context.Context, path string, req ops.EditRequest) (ops.EditReport, error) {
	leave, err := e.ws.files.enter(ctx)
	if err != nil {
		return ops.EditReport{}, e.fail("edit", path, err)
	}
	defer leave()
	var report ops.EditReport
	written, err := e.change(ctx, path, func(j job) (_ ops.WriteReport, err error) {
		if j.seen, err = j.dir.read(ctx, j.base, req.Limit); err != nil {
			return ops.WriteReport{}, err
		}
		defer j.seen.close()
		if j.data, report, err = steps.Apply(j.seen.data, req); err != nil {
			return ops.WriteReport{}, err
		}
		return j.swap(ctx)
	})
	if err != nil {
		return ops.EditReport{}, e.fail("edit", path, err)
	}
	report.WriteReport = written
	return report, nil
}

// ReplaceFile compares and swaps; see ops.Replacer (hazards MUTQ-04, MUTQ-05).
func (e engine) ReplaceFile(ctx context.Context, path string, expect ops.Expect, data []byte) (ops.WriteReport, error) {
	leave, err := e.ws.files.enter(ctx)
	if err != nil {
		return ops.WriteReport{}, e.fail("replace", path, err)
	}
	defer leave()
	report, err := e.change(ctx, path, func(j job) (ops.WriteReport, error) {
		j.data, j.fresh = data, !expect.Exists
		if expect.Exists {
			seen, err := j.known(ctx, expect)
			if err != nil {
				return ops.WriteReport{}, err
			}
			defer seen.close()
			j.seen = seen
		}
		return j.swap(ctx)
	})
	if expect.Exists && errors.Is(err, fs.ErrNotExist) {
		err = ops.ErrChanged
	}
	if err != nil {
		return ops.WriteReport{}, e.fail("replace", path, err)
	}
	return report, nil
}

// known opens the file if it is as expected.
func (j job) known(ctx context.Context, expect ops.Expect) (*seen, error) {
	if j.readOnly {
		return nil, ops.ErrReadOnly
	}
	now, err := j.dir.lstat(j.base)
	if err == nil {
		err = now.writable(j.dir, j.base)
	}
	if err != nil {
		return nil, err
	}
	s, err := j.dir.read(ctx, j.base, max(expect.Size, 1))
	if errors.Is(err, ops.ErrTooLarge) {
		return nil, ops.ErrChanged
	}
	if err != nil {
		return nil, err
	}
	if int64(len(s.data)) != expect.Size || steps.Hash(s.data) != expect.Hash {
		s.close()
		return nil, ops.ErrChanged
	}
	return s, nil
}

// swap is run for a file that was looked at: if the name means another one by
// now, or none, it has changed.
func (j job) swap(ctx context.Context) (ops.WriteReport, error) {
	report, err := j.run(ctx)
	if errors.Is(err, errMoved) || j.seen != nil && errors.Is(err, fs.ErrNotExist) {
		err = ops.ErrChanged
	}
	return report, err
}

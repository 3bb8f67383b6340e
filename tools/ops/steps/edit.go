package steps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/textedit"
)

// EditFile is ops.Editor by a read and a write. With abilities for versions, what
// another program changes between the two is ErrChanged, as far as the target can tell.
func EditFile(ctx context.Context, files ops.EditOperations, path string, req ops.EditRequest) (ops.EditReport, error) {
	return EditLooking(ctx, files, path, req, nil)
}

// EditLooking is EditFile that shows look, unless that is nil, the content before it
// is changed. An error of look is returned, and nothing is written.
func EditLooking(ctx context.Context, files ops.EditOperations, path string, req ops.EditRequest, look func(content []byte) error) (ops.EditReport, error) {
	content, version, err := Read(ctx, files, path, req.Limit)
	if err == nil && look != nil {
		err = look(content)
	}
	if err != nil {
		return ops.EditReport{}, err
	}
	data, report, err := Apply(content, req)
	if err != nil {
		return ops.EditReport{}, err
	}
	if w, ok := files.(ops.VersionWriter); ok && version.Known() {
		report.WriteReport, err = w.WriteVersion(ctx, path, version, data)
	} else {
		report.WriteReport, err = files.WriteFile(ctx, path, data)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ops.EditReport{}, &fs.PathError{Op: "edit", Path: path, Err: ops.ErrChanged} // it did a moment ago
	case err != nil:
		return ops.EditReport{}, err
	}
	return report, nil
}

// Read reads a file, with its version where that can be told.
func Read(ctx context.Context, files ops.ReadOperations, path string, limit int64) ([]byte, ops.Version, error) {
	if r, ok := files.(ops.VersionReader); ok {
		return r.ReadVersion(ctx, path, limit)
	}
	content, err := files.ReadFile(ctx, path, limit)
	return content, ops.Version{}, err
}

// Apply makes the replacements of req in content, which it leaves as it is. It
// returns the new content, and what is to be reported of it when it has been
// written. The error is a *ops.MismatchError, or ErrChanged where content is not
// what req expects.
func Apply(content []byte, req ops.EditRequest) ([]byte, ops.EditReport, error) {
	before := Hash(content)
	if req.Expect != "" && before != req.Expect {
		return nil, ops.EditReport{}, &fs.PathError{Op: "edit", Path: req.Name, Err: ops.ErrChanged}
	}
	edits := make([]textedit.Edit, len(req.Edits))
	for i, e := range req.Edits {
		edits[i] = textedit.Edit(e)
	}
	out, err := textedit.Apply(req.Name, content, edits)
	if err != nil {
		return nil, ops.EditReport{}, &ops.MismatchError{Msg: err.Error(), Err: err}
	}
	return out.Bytes, ops.EditReport{
		Before: before, After: Hash(out.Bytes),
		Diff: out.Diff, Patch: out.Patch, FirstChangedLine: out.FirstChangedLine, Tolerant: out.Tolerant,
	}, nil
}

// Hash is the SHA-256 of data as the contract spells it.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

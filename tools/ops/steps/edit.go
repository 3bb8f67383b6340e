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

// EditFile is ops.Editor by a read and a write.
func EditFile(ctx context.Context, files ops.EditOperations, path string, req ops.EditRequest) (ops.EditReport, error) {
	content, err := files.ReadFile(ctx, path, req.Limit)
	if err != nil {
		return ops.EditReport{}, err
	}
	data, report, err := Apply(content, req)
	if err != nil {
		return ops.EditReport{}, err
	}
	report.WriteReport, err = files.WriteFile(ctx, path, data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ops.EditReport{}, &fs.PathError{Op: "edit", Path: path, Err: ops.ErrChanged} // it did a moment ago
	case err != nil:
		return ops.EditReport{}, err
	}
	return report, nil
}

// Apply makes the replacements of req in content, which it leaves as it is. It
// returns the new content, and what is to be reported of it when it has been
// written. The error is a *ops.MismatchError.
func Apply(content []byte, req ops.EditRequest) ([]byte, ops.EditReport, error) {
	edits := make([]textedit.Edit, len(req.Edits))
	for i, e := range req.Edits {
		edits[i] = textedit.Edit(e)
	}
	out, err := textedit.Apply(req.Name, content, edits)
	if err != nil {
		return nil, ops.EditReport{}, &ops.MismatchError{Msg: err.Error(), Err: err}
	}
	return out.Bytes, ops.EditReport{
		Before: Hash(content), After: Hash(out.Bytes),
		Diff: out.Diff, Patch: out.Patch, FirstChangedLine: out.FirstChangedLine, Tolerant: out.Tolerant,
	}, nil
}

// Hash is the SHA-256 of data as the contract spells it.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

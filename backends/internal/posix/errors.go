package posix

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

// errInput is a failure that the target did not explain.
var errInput = errors.New("input/output error")

// sentinel turns a code of the scripts into a sentinel; nil if it is none.
func sentinel(code string) error {
	switch code {
	case "ENOENT":
		return fs.ErrNotExist
	case "EACCES":
		return fs.ErrPermission
	case "EEXIST":
		return fs.ErrExist
	case "EISDIR":
		return ops.ErrIsDir
	case "ENOTDIR":
		return ops.ErrNotDir
	case "ENOTREG":
		return ops.ErrNotRegular
	case "EOUTSIDE":
		return ops.ErrOutside
	case "ELOOP":
		return ops.ErrLoop
	case "ECHANGED":
		return ops.ErrChanged
	case "EIO":
		return errInput
	case "ENOSPC":
		return ops.ErrNoSpace
	case "EROFS":
		return ops.ErrReadOnly
	}
	return nil
}

// sayings is the one table of error texts. Scripts run in the C locale, and a
// tool's message ends with the text of its C library or of its shell; a name
// in the message can't be taken for it, since it stands before.
//
// Sources: glibc, musl, the BSDs; dash and BusyBox ash for redirections.
func sayings() []struct{ text, code string } {
	return []struct{ text, code string }{
		{"No space left on device", "ENOSPC"},
		{"Disk quota exceeded", "ENOSPC"},
		{"Disc quota exceeded", "ENOSPC"},
		{"Quota exceeded", "ENOSPC"},
		{"File too large", "ENOSPC"},
		{"Read-only file system", "EROFS"},
		{"Permission denied", "EACCES"},
		{"Operation not permitted", "EACCES"},
		{"No such file or directory", "ENOENT"},
		{"No such file", "ENOENT"},
		{"no such file", "ENOENT"},
		{"Directory nonexistent", "ENOENT"},
		{"directory nonexistent", "ENOENT"},
		{"nonexistent directory", "ENOENT"},
		{"File exists", "EEXIST"},
		{"file exists", "EEXIST"},
		{"Not a directory", "ENOTDIR"},
		{"Is a directory", "EISDIR"},
		{"Too many levels of symbolic links", "ELOOP"},
		{"Symbolic link loop", "ELOOP"},
	}
}

// said maps the text of a failed tool. An unknown text is kept as it is.
func said(text string) error {
	text = strings.TrimRight(text, "\n")
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	for _, s := range sayings() {
		if strings.HasSuffix(text, ": "+s.text) || text == s.text {
			return sentinel(s.code)
		}
	}
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	if text == "" {
		return errInput
	}
	return errors.New(text)
}

func pathError(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// ended returns the error of a context that has ended, its cause kept.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}

func (e *Engine) transport(kind ops.Kind, msg string, err error) error {
	return &ops.TransportError{Kind: kind, Target: e.label, Msg: msg, Err: err}
}

package local

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/piremote/piremote/tools/ops"
)

// fail turns an error of the system into one of the contract: a *fs.PathError
// with the caller's path around a sentinel. Cancellation, transport errors and
// mismatches of edits stay what they are.
func (v *view) fail(op, path string, err error) error {
	var transport *ops.TransportError
	var mismatch *ops.MismatchError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &transport), errors.As(err, &mismatch):
		return err
	}
	var other plain
	if errors.As(err, &other) {
		return other.error
	}
	err = bare(err)
	for _, r := range v.roots {
		if r.escape != nil && errors.Is(err, r.escape) {
			err = ops.ErrOutside
		}
	}
	return &fs.PathError{Op: op, Path: path, Err: sentinel(err)}
}

// bare removes the layers that name an operation and a path.
func bare(err error) error {
	for {
		switch e := err.(type) { //nolint:errorlint // peels exactly one layer at a time
		case *fs.PathError:
			err = e.Err
		case *os.LinkError:
			err = e.Err
		case *os.SyscallError:
			err = e.Err
		default:
			return err
		}
	}
}

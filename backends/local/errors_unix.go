//go:build unix

package local

import (
	"errors"
	"syscall"

	"github.com/piremote/piremote/tools/ops"
)

// sentinel maps the codes that io/fs has no sentinel for.
func sentinel(err error) error {
	var code syscall.Errno
	if !errors.As(err, &code) {
		return err
	}
	for _, m := range []struct {
		code syscall.Errno
		err  error
	}{
		{syscall.EISDIR, ops.ErrIsDir},
		{syscall.ENOTDIR, ops.ErrNotDir},
		{syscall.ENOSPC, ops.ErrNoSpace},
		{syscall.EDQUOT, ops.ErrNoSpace},
		{syscall.EROFS, ops.ErrReadOnly},
		{syscall.ELOOP, ops.ErrLoop},
		{syscall.ENXIO, ops.ErrNotRegular}, // a socket, a FIFO without reader, a device without driver
	} {
		if code == m.code {
			return m.err
		}
	}
	return err
}

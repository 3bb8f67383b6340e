package local

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"

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
		{windows.ERROR_DIRECTORY, ops.ErrNotDir},
		{syscall.ENOTDIR, ops.ErrNotDir},
		{syscall.EISDIR, ops.ErrIsDir},
		{windows.ERROR_DISK_FULL, ops.ErrNoSpace},
		{windows.ERROR_HANDLE_DISK_FULL, ops.ErrNoSpace},
		{windows.ERROR_DISK_QUOTA_EXCEEDED, ops.ErrNoSpace},
		{windows.ERROR_WRITE_PROTECT, ops.ErrReadOnly},
		{windows.ERROR_CANT_RESOLVE_FILENAME, ops.ErrLoop},
		{syscall.ELOOP, ops.ErrLoop},
	} {
		if code == m.code {
			return m.err
		}
	}
	return err
}

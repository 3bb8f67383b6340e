package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock takes an exclusive lock that ends when f is closed. It does not wait: held
// says that another one has it. It is on a byte that no file has, since locks of
// Windows forbid reading.
func lock(f *os.File) (held bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{OffsetHigh: 0x7fffffff})
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION), err
}

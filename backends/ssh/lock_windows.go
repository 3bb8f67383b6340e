package ssh

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes an exclusive lock that ends when f is closed.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &windows.Overlapped{OffsetHigh: 0x7fffffff})
}

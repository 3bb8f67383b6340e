//go:build unix

package ssh

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes an exclusive lock that ends when f is closed.
func lockFile(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			return err
		}
	}
}

//go:build unix && !linux

package local

import (
	"io/fs"
	"syscall"
)

// learnFacts sets the mask for a moment, since there is no other way to read it.
func learnFacts() facts {
	mask := syscall.Umask(0o077)
	syscall.Umask(mask)
	return facts{umask: fs.FileMode(mask)} //nolint:gosec // nine bits
}

//go:build unix

package local

import (
	"os"
	"syscall"
)

// readFlags open a file for reading without ever waiting for a writer of a FIFO
// or for a device, and without taking a terminal (hazard READ-03).
const readFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// noFollow refuses a link as the last component.
const noFollow = syscall.O_NOFOLLOW

//go:build unix && !linux && !darwin

package proctree

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start returns when a process began; here nothing is known of it.
func Start(int) (uint64, error) { return 0, nil }

func list() ([]Process, error) {
	return nil, errors.New("reading the process table is not implemented for this system")
}

func youngerThan(int) ([]Process, bool) { return nil, false }

func carries(int, string) bool { return false }

func send(p Process, sig syscall.Signal) {
	if p.PID > 1 {
		_ = unix.Kill(p.PID, sig)
	}
}

// mentions reports true: on this system every kill is reported as unverified
// anyway.
func mentions(int, string) bool { return true }

//go:build linux

package server

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// startResident starts the process of a session that is to outlive this one, and
// returns the connection to it. It is in a session of its own and holds nothing of
// what this process was started with.
func startResident(o Options) (net.Conn, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "resident"), os.NewFile(uintptr(pair[1]), "resident")
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	cmd := exec.Command(o.Self, "reside") //nolint:noctx,gosec // it outlives this process, and is this program
	cmd.Env = o.Env
	cmd.Dir = "/"
	cmd.Stdin = theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the resident process can't be started: %w", err)
	}
	go func() { _ = cmd.Wait() }() // if it ends before this process does
	return net.FileConn(ours)
}

//go:build linux

package server

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/helper"
)

// startResident starts the process of a session that is to outlive this one, and
// returns the connection to it. It is in a session of its own and holds nothing of
// what this process was started with.
func startResident(o Options) (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "resident")
	defer func() { _ = theirs.Close() }()
	cmd := exec.Command(o.Self, helper.Reside) //nolint:noctx,gosec // it outlives this process, and is this program
	cmd.Env = o.Env
	cmd.Dir = "/"
	cmd.Stdin = theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	if err == nil {
		err = unix.SetNonblock(pair[0], true)
	}
	if err != nil {
		_ = unix.Close(pair[0])
		return nil, fmt.Errorf("the resident process can't be started: %w", err)
	}
	go func() { _ = cmd.Wait() }() // if it ends before this process does
	return os.NewFile(uintptr(pair[0]), "resident"), nil
}

//go:build linux

package server

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/helper"
)

// Reside starts this program once more, in a session of its own: it holds nothing of
// what this process was started with.
func (s system) Reside() (io.ReadWriteCloser, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "resident")
	defer func() { _ = theirs.Close() }()
	cmd := exec.Command(s.self, helper.Reside) //nolint:noctx,gosec // it outlives this process, and is this program
	cmd.Env = s.env
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

//go:build unix

package ssh

import (
	"os/exec"
	"syscall"
)

// prepareProxy gives a proxy command a process group of its own.
func prepareProxy(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endProxy ends a proxy command with its group.
func endProxy(cmd *exec.Cmd) {
	if pid := cmd.Process.Pid; pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // gone already is as good
	}
}

package ssh

import "os/exec"

func prepareProxy(*exec.Cmd) {}

func endProxy(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

//go:build unix

package backendtest

import "syscall"

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o644) }

//go:build unix

package docker

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// claim notes in a folder of this machine that a sandbox at a daemon is in use: as
// long as this process lives, its file is locked.
func claim(dir, token, host string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := filepath.Join(dir, token)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600) //nolint:gosec // the folder is the caller's
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		_, err = f.WriteString(host)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() {
		_ = os.Remove(name) // before it is unlocked
		_ = f.Close()
	}, nil
}

// takeOver takes the claim of a sandbox that was made here, by a process that has ended,
// until release is called, and says at which daemon that is. Only one process has it at
// a time; without a release another one has it, or there is none.
func takeOver(dir, token string) (host string, release func()) {
	name := filepath.Join(dir, filepath.Base(token))
	f, err := os.OpenFile(name, os.O_RDWR, 0) //nolint:gosec // a name in the caller's folder
	if err != nil {
		return "", nil
	}
	text, err := os.ReadFile(name) //nolint:gosec // as above
	if err != nil || errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		_ = f.Close()
		return "", nil
	}
	return string(text), func() { _ = f.Close() }
}

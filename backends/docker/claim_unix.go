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

// abandoned reports whether a sandbox was made here, by a process that has ended, and
// at which daemon.
func abandoned(dir, token string) (host string, is bool) {
	name := filepath.Join(dir, filepath.Base(token))
	f, err := os.OpenFile(name, os.O_RDWR, 0) //nolint:gosec // a name in the caller's folder
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		return "", false
	}
	text, err := os.ReadFile(name) //nolint:gosec // as above
	return string(text), err == nil
}

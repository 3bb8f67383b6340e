//go:build linux

package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/helper"
)

// What a session's state file says first.
const (
	stateAttended = "attended"
	stateAlone    = "alone"
)

// note writes what goes on in a session, for who lists them.
func (f *folder) note(state string, until time.Time) {
	text := fmt.Sprintf("%d %s %d\n", os.Getpid(), state, until.Unix())
	// Who lists sessions meanwhile sees an old state, or none.
	_ = os.WriteFile(filepath.Join(f.path, stateName), []byte(text), 0o600)
}

// List returns the sessions in a helper's folder, as far as they can be read.
func List(cache string) ([]helper.Session, error) {
	entries, err := os.ReadDir(sessionsDir(cache))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []helper.Session
	for _, e := range entries {
		if e.IsDir() && validName(e.Name()) {
			list = append(list, look(filepath.Join(sessionsDir(cache), e.Name())))
		}
	}
	return list, nil
}

// look reads what a session's folder tells.
func look(dir string) helper.Session {
	s := helper.Session{Name: filepath.Base(dir), State: helper.SessionEnded}
	if info, err := os.Stat(dir); err == nil {
		s.Since = info.ModTime()
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return s
	}
	defer func() { _ = lock.Close() }()
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return s
	}
	s.State = helper.SessionAttended
	state, err := os.ReadFile(filepath.Join(dir, stateName))
	if err != nil {
		return s
	}
	fields := strings.Fields(string(state))
	if len(fields) != 3 {
		return s
	}
	s.PID, _ = strconv.Atoi(fields[0]) // zero if it is none
	if fields[1] == stateAlone {
		s.State = helper.SessionAlone
		if sec, err := strconv.ParseInt(fields[2], 10, 64); err == nil {
			s.Until = time.Unix(sec, 0)
		}
	}
	return s
}

// Collect ends the sessions to which no client is connected, with their commands,
// and removes what those left that have ended. It returns what it found.
func Collect(cache string) ([]helper.Session, error) {
	list, err := List(cache)
	var errs []error
	for _, s := range list {
		dir := filepath.Join(sessionsDir(cache), s.Name)
		switch s.State {
		case helper.SessionAlone:
			if s.PID > 0 {
				errs = append(errs, syscall.Kill(s.PID, syscall.SIGTERM))
			}
		case helper.SessionEnded:
			errs = append(errs, os.RemoveAll(dir))
		case helper.SessionAttended:
		}
	}
	return list, errors.Join(append(errs, err)...)
}

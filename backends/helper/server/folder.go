//go:build linux

package server

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/tools/ops"
)

// folder is where a session is found by processes that come later: a lock that
// its process holds as long as it lives, its socket, the hash of its secret, and
// the journal of its changes.
type folder struct {
	path     string
	handle   *os.File // of the folder
	lock     *os.File
	listener Listener
}

// Names in a session's folder.
const (
	lockName    = "lock"
	socketName  = "socket"
	secretName  = "secret"
	journalName = "journal"
	stateName   = "state"
)

// Times of folders.
const (
	claimLimit = 5 * time.Second // for the process before to go
	claimPoll  = 20 * time.Millisecond
	staleAfter = 24 * time.Hour // nobody asks any more what became of a change
)

// validName reports whether a session may have this name: it is one of a file.
func validName(name string) bool {
	return len(name) >= 8 && len(name) <= 64 && strings.Trim(name, "0123456789abcdef") == ""
}

// sessionsDir is where the folders of sessions are.
func sessionsDir(cache string) string { return filepath.Join(cache, "sessions") }

// claim makes the folder of a new session, or takes over that of one whose
// process is gone: its secret must be the same then, and its journal is read.
func claim(cache string, s *session, resume bool) (*folder, error) {
	if err := os.MkdirAll(sessionsDir(cache), 0o700); err != nil {
		return nil, err
	}
	sweep(cache)
	dir := filepath.Join(sessionsDir(cache), s.name)
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) && resume {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	f := &folder{path: dir}
	if err := f.open(s, resume); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *folder) open(s *session, resume bool) (err error) {
	if f.handle, err = openPrivate(f.path); err != nil {
		return err
	}
	if f.lock, err = takeLock(filepath.Join(f.path, lockName)); err != nil {
		return err
	}
	sum := hex.EncodeToString(s.secret[:])
	secret := filepath.Join(f.path, secretName)
	have, err := os.ReadFile(secret)
	switch {
	case err == nil && resume:
		if subtle.ConstantTimeCompare(have, []byte(sum)) != 1 {
			return errRefused
		}
	case err == nil:
		return fs.ErrExist
	default:
		if err := os.WriteFile(secret, []byte(sum), 0o600); err != nil {
			return err
		}
	}
	journal, err := os.OpenFile(filepath.Join(f.path, journalName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if err := s.journal.load(journal); err != nil {
		_ = journal.Close()
		return err
	}
	f.listener, err = s.options.processes().Listen(f.handle)
	return err
}

// openPrivate opens a folder, unless others may have a hand in it.
func openPrivate(path string) (*os.File, error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, notPrivate(path, "it is a link or no folder")
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	err = unix.Fstat(int(dir.Fd()), &st)
	switch {
	case err != nil:
	case int(st.Uid) != os.Geteuid():
		err = notPrivate(path, fmt.Sprintf("it belongs to the account with the number %d", st.Uid))
	case st.Mode&0o077 != 0:
		err = notPrivate(path, fmt.Sprintf("its mode is %03o", st.Mode&0o777))
	}
	if err != nil {
		_ = dir.Close()
		return nil, err
	}
	return dir, nil
}

func notPrivate(path, why string) error {
	return &ops.TransportError{
		Kind: ops.KindAuth, Target: "helper",
		Msg: fmt.Sprintf("the folder %s of the session is not private: %s; remove it", path, why),
	}
}

// takeLock locks a file for this process, waiting a little for one that is about
// to end.
func takeLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	deadline := time.NewTimer(claimLimit)
	defer deadline.Stop()
	poll := time.NewTicker(claimPoll)
	defer poll.Stop()
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return f, f.Truncate(0)
		}
		select {
		case <-poll.C:
			continue
		case <-deadline.C:
		}
		_ = f.Close()
		return nil, &ops.TransportError{
			Kind: ops.KindUnavailable, Target: "helper", Err: err,
			Msg: "the process that has the session neither answers nor ends",
		}
	}
}

// socketIn is the path of a session's socket. That of the folder may be too long
// for a socket's address, that of its descriptor is not.
func socketIn(dir *os.File) string {
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), socketName)
}

// callSession connects to the process that has a session.
func callSession(o Options, name string) (io.ReadWriteCloser, error) {
	if o.Cache == "" {
		return nil, fs.ErrNotExist
	}
	dir, err := openPrivate(filepath.Join(sessionsDir(o.Cache), name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return o.processes().Dial(dir)
}

// listen takes connections of other processes of the same account.
func (s *session) listen() {
	for {
		c, err := s.folder.listener.Accept()
		if err != nil {
			return // it was closed
		}
		s.attending.Go(func() {
			in := newReader(c)
			ends := context.AfterFunc(s.ctx, func() { _ = c.Close() })
			h, err := greet(c, in)
			if !ends() || err != nil {
				return
			}
			_ = s.attend(c, in, h) // why it ended was told to the client
		})
	}
}

// release gives the session up. After a goodbye nobody will ask about it.
func (f *folder) release(goodbye bool) error {
	var err error
	if goodbye {
		err = os.RemoveAll(f.path)
	} else if err = os.Remove(filepath.Join(f.path, socketName)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	f.close()
	return err
}

func (f *folder) close() {
	if f.listener != nil {
		_ = f.listener.Close()
	}
	for _, file := range []*os.File{f.lock, f.handle} {
		if file != nil {
			_ = file.Close()
		}
	}
}

// sweep removes folders of sessions that ended long ago.
func sweep(cache string) {
	entries, err := os.ReadDir(sessionsDir(cache))
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(sessionsDir(cache), e.Name())
		info, err := e.Info()
		if err != nil || !e.IsDir() || !validName(e.Name()) || time.Since(info.ModTime()) < staleAfter {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}

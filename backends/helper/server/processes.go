//go:build linux

package server

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Processes is how the processes of an account on a machine start and reach each
// other. Its methods may be called concurrently. The connections it gives are the
// caller's to close; closing one unblocks who reads or writes it, and the other side
// sees its end.
type Processes interface {
	// Reside starts a process that calls [Reside] and outlives this one, and
	// returns what is the first connection there.
	Reside() (io.ReadWriteCloser, error)
	// Listen takes the connections of later processes to a session, whose open
	// folder dir is. At most one listens in a folder.
	Listen(dir *os.File) (Listener, error)
	// Dial connects to the process that listens in a folder. It does not wait for
	// one, or until it accepts.
	Dial(dir *os.File) (io.ReadWriteCloser, error)
}

// Listener gives the connections that come in.
type Listener interface {
	// Accept waits for one. It fails when the listener is closed.
	Accept() (io.ReadWriteCloser, error)
	io.Closer
}

// system are the processes of this machine.
type system struct {
	self string   // the program to start
	env  []string // of what is started
}

// Dial connects to the socket in a folder.
func (system) Dial(dir *os.File) (io.ReadWriteCloser, error) {
	c, err := dialUnix(socketIn(dir))
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Listen makes the socket in a folder. One that is there is of a process that was
// killed: the folder is locked.
func (system) Listen(dir *os.File) (Listener, error) {
	path := socketIn(dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := listenUnix(path)
	if err != nil {
		return nil, err
	}
	return listener{l}, nil
}

// listener is a listening socket that turns other accounts away.
type listener struct{ *os.File }

// Accept waits for a peer of the same account.
func (l listener) Accept() (io.ReadWriteCloser, error) {
	for {
		c, err := accept(l.File)
		if err != nil {
			return nil, err
		}
		if err = sameAccount(c); err == nil {
			return c, nil
		}
		_ = turnAway(c, err) // a new socket takes so little at once
	}
}

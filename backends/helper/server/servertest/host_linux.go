package servertest

import (
	"context"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/helper/server"
)

// Host is a target whose helpers are goroutines of this process. Its methods may be
// called concurrently.
type Host struct {
	options server.Options

	mu        sync.Mutex
	listeners map[string]*listener // by folder
	helpers   sync.WaitGroup
}

var _ server.Processes = (*Host)(nil)

// NewHost returns a target. Its helpers have the options but for In, Out and
// Processes. Sessions keep their folders in o.Cache, which is one of the machine.
func NewHost(o server.Options) *Host {
	return &Host{options: o, listeners: map[string]*listener{}}
}

// Start starts a helper and returns its stream; it suits the Dial of a client.
func (h *Host) Start(context.Context) (io.ReadWriteCloser, error) { return h.run(server.Serve), nil }

// Wait waits until all helpers have ended.
func (h *Host) Wait() { h.helpers.Wait() }

// run does what a helper does.
func (h *Host) run(serve func(server.Options) error) io.ReadWriteCloser {
	ours, theirs := Link()
	o := h.options
	o.In, o.Out, o.Processes = theirs, theirs, h
	h.helpers.Go(func() {
		_ = serve(o) // how it ended is the client's to judge
		_ = theirs.Close()
	})
	return ours
}

// Reside implements [server.Processes].
func (h *Host) Reside() (io.ReadWriteCloser, error) { return h.run(server.Reside), nil }

// Listen implements [server.Processes].
func (h *Host) Listen(dir *os.File) (server.Listener, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners[dir.Name()] != nil {
		return nil, &os.PathError{Op: "listen", Path: dir.Name(), Err: unix.EADDRINUSE}
	}
	l := &listener{host: h, name: dir.Name(), come: make(chan io.ReadWriteCloser, backlog), closed: make(chan struct{})}
	h.listeners[l.name] = l
	return l, nil
}

// Dial implements [server.Processes].
func (h *Host) Dial(dir *os.File) (io.ReadWriteCloser, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ours, theirs := Link()
	if l := h.listeners[dir.Name()]; l != nil {
		select {
		case l.come <- theirs:
			return ours, nil
		default:
		}
	}
	return nil, &os.PathError{Op: "dial", Path: dir.Name(), Err: unix.ECONNREFUSED}
}

// listener takes the connections to one session.
type listener struct {
	host   *Host
	name   string
	come   chan io.ReadWriteCloser
	once   sync.Once
	closed chan struct{}
}

// backlog is how many connections wait for being accepted.
const backlog = 16

func (l *listener) Accept() (io.ReadWriteCloser, error) {
	select {
	case c := <-l.come:
		return c, nil
	case <-l.closed:
		return nil, os.ErrClosed
	}
}

// Close ends also the connections that wait, as the system does.
func (l *listener) Close() error {
	l.once.Do(func() {
		l.host.mu.Lock()
		defer l.host.mu.Unlock()
		delete(l.host.listeners, l.name)
		close(l.closed)
		for len(l.come) > 0 {
			_ = (<-l.come).Close()
		}
	})
	return nil
}

package ssh

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// connection keeps at most one link to a host, and makes a new one when a call
// needs it after the old one was lost (hazard SSHC-07).
type connection struct {
	options Options
	hop     hop

	dialing chan struct{} // holds a token while somebody dials
	mu      sync.Mutex
	link    *link
	stop    chan struct{} // ends the keepalive
	closed  bool
}

func newConnection(o Options, h hop) *connection {
	return &connection{options: o, hop: h, dialing: make(chan struct{}, 1), stop: make(chan struct{})}
}

// redials is how often a lost link is made anew for one call, with a growing
// pause between.
const redials = 3

// errClosed is returned by calls on a workspace that was closed.
var errClosed = errors.New("the workspace is closed")

// get returns the link, dialing if there is none that is alive.
func (c *connection) get(ctx context.Context) (*link, error) {
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, ended(ctx)
	}
	c.mu.Lock()
	l, closed := c.link, c.closed
	c.mu.Unlock()
	if closed {
		return nil, transport(ops.KindUnavailable, c.hop.label(), errClosed, "the workspace on %s is closed", c.hop.address())
	}
	if l != nil && l.alive() {
		return l, nil
	}
	again := l != nil
	pause := 200 * time.Millisecond
	for try := 1; ; try++ {
		l, err := dial(ctx, c.options, c.hop)
		if err == nil {
			return l, c.keep(l)
		}
		if !again || try == redials || ops.KindOf(err) != ops.KindUnavailable || ctx.Err() != nil {
			return nil, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ended(ctx)
		}
		pause *= 4
	}
}

// keep makes l the link of the connection.
func (c *connection) keep(l *link) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		l.close()
		return transport(ops.KindUnavailable, c.hop.label(), errClosed, "the workspace on %s is closed", c.hop.address())
	}
	c.link = l
	go l.keepAlive(c.options.Keepalive, c.options.KeepaliveCount, c.stop)
	return nil
}

// session opens a session channel, waiting for a free slot as long as ctx lets
// it. A connection that was lost before anything was sent is made anew.
func (c *connection) session(ctx context.Context) (*channel, error) {
	pause := firstBackOff
	for lostOnce := false; ; {
		l, err := c.get(ctx)
		if err != nil {
			return nil, err
		}
		ch, err := l.tryOpen(ctx)
		switch {
		case err == nil:
			return ch, nil
		case errors.Is(err, errBusy):
			timer := time.NewTimer(pause)
			select {
			case <-l.waitFreed():
			case <-timer.C:
				l.forget()
				pause = min(2*pause, lastBackOff)
			case <-ctx.Done():
				timer.Stop()
				return nil, ended(ctx)
			}
			timer.Stop()
		case !l.alive() && !lostOnce && ctx.Err() == nil:
			lostOnce = true
		default:
			return nil, err
		}
	}
}

// close ends the link; calls under way fail.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	close(c.stop)
	if c.link != nil {
		c.link.close()
	}
}

package ssh

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// connection keeps a link to a host, and makes a new one when a call
// needs it after the old one was lost (hazard SSHC-07).
type connection struct {
	options Options
	hop     hop

	dialing chan struct{} // holds a token while somebody dials
	mu      sync.Mutex
	link    *link
	extras  []*link
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

// Further links, for servers that allow few sessions on one.
const (
	maxExtras = 3
	fewSlots  = 2           // so few that a command and its ending would wait for each other
	patience  = time.Second // that a call has with a busy link that has more slots
)

// session opens a session channel, waiting for a free slot as long as ctx lets
// it. A connection that was lost before anything was sent is made anew. When the
// server has too few slots for what goes on, a further link to the same host
// carries the channel (hazard SSHX-05).
func (c *connection) session(ctx context.Context) (*channel, error) {
	pause := firstBackOff
	begin := time.Now()
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
			if l.slots() <= fewSlots || time.Since(begin) > patience {
				if ch, err := c.sessionOnExtra(ctx, l); err == nil || ctx.Err() != nil {
					return ch, err
				}
			}
			timer := time.NewTimer(pause)
			select {
			case <-l.waitFreed():
			case <-timer.C:
				l.forget()
				pause = min(2*pause, lastBackOff)
			case <-l.done:
			case <-ctx.Done():
				timer.Stop()
				return nil, ended(ctx)
			}
			timer.Stop()
		case ctx.Err() == nil && !lostOnce && !l.aliveSoon():
			lostOnce = true
		default:
			return nil, err
		}
	}
}

// sessionOnExtra opens a channel on a further link; errBusy if there is none to
// be had.
func (c *connection) sessionOnExtra(ctx context.Context, first *link) (*channel, error) {
	if first.asked {
		return nil, errBusy // nobody is asked twice for one connection
	}
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, ended(ctx)
	}
	c.mu.Lock()
	c.extras = slices.DeleteFunc(c.extras, func(l *link) bool { return !l.alive() })
	extras := slices.Clone(c.extras)
	c.mu.Unlock()
	for _, l := range extras {
		if ch, err := l.tryOpen(ctx); err == nil || ctx.Err() != nil {
			return ch, err
		}
	}
	if len(extras) == maxExtras {
		return nil, errBusy
	}
	o := c.options
	o.Passphrase, o.Answer, o.Password = nil, nil, nil
	l, err := dial(ctx, o, c.hop)
	if err != nil {
		return nil, errBusy
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		l.close()
		return nil, errBusy
	}
	c.extras = append(c.extras, l)
	c.mu.Unlock()
	go l.keepAlive(o.Keepalive, o.KeepaliveCount, c.stop)
	return l.tryOpen(ctx)
}

// close ends the links; calls under way fail.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	close(c.stop)
	for _, l := range append(c.extras, c.link) {
		if l != nil {
			l.close()
		}
	}
}

package ssh

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/piremote/piremote/backends/internal/redial"
	"github.com/piremote/piremote/tools/ops"
)

// connection keeps a link to a host, and makes a new one when a call
// needs it after the old one was lost (hazard SSHC-07).
type connection struct {
	options Options
	hop     hop

	keeper   *redial.Keeper[*link]
	widening chan struct{} // holds a token while somebody looks for a further link
	stop     chan struct{} // ends the keepalive

	mu     sync.Mutex
	extras []*link
	closed bool
}

func newConnection(o Options, h hop) *connection {
	c := &connection{options: o, hop: h, widening: make(chan struct{}, 1), stop: make(chan struct{})}
	c.keeper = redial.New(redial.Options[*link]{
		Dial:    func(ctx context.Context, _ bool) (*link, error) { return dial(ctx, o, h) },
		Alive:   (*link).alive,
		Made:    func(l *link) { go l.keepAlive(o.Keepalive, o.KeepaliveCount, c.stop) },
		Discard: (*link).close,
		Closed: func() error {
			return transport(ops.KindUnavailable, h.label(), errClosed, "the workspace on %s is closed", h.address())
		},
	})
	return c
}

// errClosed is returned by calls on a workspace that was closed.
var errClosed = errors.New("the workspace is closed")

// get returns the link, dialing if there is none that is alive.
func (c *connection) get(ctx context.Context) (*link, error) {
	l, err := c.keeper.Get(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, ended(ctx)
	}
	return l, err
}

// Further links, for servers that allow few sessions on one.
const (
	maxExtras = 3
	fewSlots  = 2           // so few that a command and its ending would wait for each other
	patience  = time.Second // that a call has with a busy link that has more slots
)

// session opens a session channel, waiting for a free slot as long as ctx lets
// it. A connection that the other side ended before anything was sent is made
// anew; one that stopped answering is not, since another attempt would most
// likely meet the same silence (the next call makes it). When the
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
			redial.Sign(ctx) // the link may have been there before
			return ch, nil
		case errors.Is(err, errBusy):
			if l.slots() <= fewSlots || time.Since(begin) > patience {
				ch, err := c.sessionOnExtra(ctx, l)
				switch {
				case err == nil:
					return ch, nil
				case ctx.Err() != nil:
					return nil, ended(ctx)
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
		case ctx.Err() == nil && !lostOnce && !l.aliveSoon() && !l.deaf.Load():
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
	case c.widening <- struct{}{}:
		defer func() { <-c.widening }()
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
	if l, had, _ := c.keeper.Close(); had {
		l.close()
	}
	for _, l := range c.extras {
		l.close()
	}
}

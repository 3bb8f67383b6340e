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

	widening chan struct{} // holds a token while somebody looks for a further link
	mu       sync.Mutex
	link     *link
	attempt  *attempt // to make the link; nil if none is under way
	extras   []*link
	stop     chan struct{} // ends the keepalive
	closed   bool
}

// attempt is the making of a link, which all calls share that need one: a host
// that doesn't answer costs each of them one deadline, not a queue of them. It
// is given up when nobody waits for it any more.
type attempt struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{} // closed when link and err are set
	link    *link
	err     error
}

func newConnection(o Options, h hop) *connection {
	return &connection{options: o, hop: h, widening: make(chan struct{}, 1), stop: make(chan struct{})}
}

// redials is how often a lost link is made anew, with a growing pause between.
const redials = 3

// errClosed is returned by calls on a workspace that was closed.
var errClosed = errors.New("the workspace is closed")

// get returns the link, dialing if there is none that is alive.
func (c *connection) get(ctx context.Context) (*link, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	a, l, err := c.join(ctx)
	if a == nil {
		return l, err
	}
	defer c.part(a)
	select {
	case <-a.done:
		return a.link, a.err
	case <-ctx.Done():
		return nil, ended(ctx)
	}
}

// join returns the link if it is alive, else the attempt to make it, which the
// caller parts from when it has waited enough.
func (c *connection) join(ctx context.Context) (*attempt, *link, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, nil, c.closedError()
	case c.link != nil && c.link.alive():
		return nil, c.link, nil
	case c.attempt == nil:
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it may outlive this call
		a := &attempt{cancel: cancel, done: make(chan struct{})}
		c.attempt = a
		go c.make(ctx, a, c.link != nil)
	}
	c.attempt.waiting++
	return c.attempt, nil, nil
}

func (c *connection) part(a *attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.waiting--; a.waiting == 0 {
		a.cancel()
		if c.attempt == a {
			c.attempt = nil // who comes now must not get the end of this one
		}
	}
}

// make makes the link, a lost one with several tries.
func (c *connection) make(ctx context.Context, a *attempt, again bool) {
	pause := 200 * time.Millisecond
	for try := 1; ; try++ {
		a.link, a.err = dial(ctx, c.options, c.hop)
		if a.err == nil || !again || try == redials || ops.KindOf(a.err) != ops.KindUnavailable {
			break
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		if ctx.Err() != nil {
			break
		}
		pause *= 4
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(a.done)
	if c.attempt == a {
		c.attempt = nil
	} else if a.err == nil {
		a.link.close() // nobody waits for it
		a.err = c.closedError()
		return
	}
	if a.err == nil {
		a.err = c.keep(a.link)
	}
}

func (c *connection) closedError() error {
	return transport(ops.KindUnavailable, c.hop.label(), errClosed, "the workspace on %s is closed", c.hop.address())
}

// keep makes l the link of the connection, whose lock the caller holds.
func (c *connection) keep(l *link) error {
	if c.closed {
		l.close()
		return c.closedError()
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
	if c.attempt != nil {
		c.attempt.cancel()
	}
	for _, l := range append(c.extras, c.link) {
		if l != nil {
			l.close()
		}
	}
}

// Package redial keeps one connection that many calls share, and makes it anew when
// a call needs it after it was lost (hazard SSHC-07).
package redial

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// Options says how a connection is made and told apart. All functions may be called
// from any goroutine; none is called with a lock held but Alive and Made.
type Options[C any] struct {
	// Dial makes a connection; again says that there was one before. It may call
	// Sign with its context.
	Dial func(ctx context.Context, again bool) (C, error)
	// Alive reports whether a connection is of use. It must not block.
	Alive func(C) bool
	// Made is told of a connection before it is handed out. It must not block.
	Made func(C)
	// Discard ends a connection that nobody waits for any more.
	Discard func(C)
	// Closed is the error of calls after Close.
	Closed func() error
}

// Keeper keeps a connection. Its methods may be called concurrently.
type Keeper[C any] struct {
	options Options[C]

	mu      sync.Mutex
	conn    C
	had     bool // conn is, or was, one
	attempt *attempt[C]
	closed  bool
}

// attempt is the making of a connection, which all calls share that need one: a
// target that doesn't answer costs each of them one deadline, not a queue of them.
// It is given up when nobody waits for it any more.
type attempt[C any] struct {
	waiting int
	cancel  context.CancelFunc
	sign    chan struct{} // closed when the other side has given a sign of life
	done    chan struct{} // closed when conn and err are set
	conn    C
	err     error
}

// A lost connection is made anew with so many tries and a pause that grows. A target
// that was silent for the whole of one is not tried again for the same calls.
const (
	Tries      = 3
	firstPause = 200 * time.Millisecond
	growth     = 4
)

// New returns a Keeper without a connection.
func New[C any](o Options[C]) *Keeper[C] { return &Keeper[C]{options: o} }

// Get returns the connection, made anew if there is none that is alive. When ctx ends
// the error is its cause; the attempt goes on for others who wait. OnSign's function is
// called for each who waits.
func (k *Keeper[C]) Get(ctx context.Context) (C, error) {
	if ctx.Err() != nil {
		var none C
		return none, context.Cause(ctx)
	}
	a, c, err := k.join(ctx)
	if a == nil {
		return c, err
	}
	defer k.part(a)
	for sign := a.sign; ; {
		select {
		case <-sign:
			sign = nil
			Sign(ctx)
		case <-a.done:
			return a.conn, a.err
		case <-ctx.Done():
			var none C
			return none, context.Cause(ctx)
		}
	}
}

// join returns the connection if it is alive, else the attempt to make it, from
// which the caller parts when it has waited enough.
func (k *Keeper[C]) join(ctx context.Context) (*attempt[C], C, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var none C
	switch {
	case k.closed:
		return nil, none, k.options.Closed()
	case k.had && k.options.Alive(k.conn):
		return nil, k.conn, nil
	case k.attempt == nil:
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // it may outlive this call; part and Close cancel it
		a := &attempt[C]{cancel: cancel, sign: make(chan struct{}), done: make(chan struct{})}
		k.attempt = a
		go k.make(OnSign(ctx, sync.OnceFunc(func() { close(a.sign) })), a, k.had)
	}
	k.attempt.waiting++
	return k.attempt, none, nil
}

func (k *Keeper[C]) part(a *attempt[C]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a.waiting--; a.waiting == 0 {
		a.cancel()
		if k.attempt == a {
			k.attempt = nil // who comes now must not get the end of this one
		}
	}
}

// make carries an attempt out.
func (k *Keeper[C]) make(ctx context.Context, a *attempt[C], again bool) {
	defer close(a.done)
	c, err := k.dial(ctx, again)
	if !k.settle(a, c, err) {
		k.options.Discard(c)
	}
}

// dial makes a connection, one that was lost with several tries.
func (k *Keeper[C]) dial(ctx context.Context, again bool) (C, error) {
	pause := firstPause
	for try := 1; ; try++ {
		c, err := k.options.Dial(ctx, again)
		if err == nil || !again || try == Tries || ops.KindOf(err) != ops.KindUnavailable || errors.Is(err, context.DeadlineExceeded) {
			return c, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return c, err
		}
		pause *= growth
	}
}

// settle records how an attempt ended. It reports false for a connection that nobody
// may have any more.
func (k *Keeper[C]) settle(a *attempt[C], c C, err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	given := k.attempt == a
	if given {
		k.attempt = nil
	}
	switch {
	case err != nil:
		a.err = err
	case !given || k.closed:
		a.err = k.options.Closed()
		return false
	default:
		a.conn, k.conn, k.had = c, c, true
		k.options.Made(c)
	}
	return true
}

// Close lets no call have a connection any more. It returns the last one, if there
// was one, which it does not end, and what is closed when an attempt that was under
// way has ended; nil if none was. It may be called more than once.
func (k *Keeper[C]) Close() (c C, had bool, ending <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if k.attempt != nil {
		k.attempt.cancel()
		ending = k.attempt.done
	}
	return k.conn, k.had, ending
}

package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/backends/internal/redial"
)

// conn is a connection to the session at the target, shared by all calls.
type conn struct {
	stream  io.ReadWriteCloser
	out     *wire.Writer
	heard   atomic.Int64  // frames
	ready   chan struct{} // closed when the hello was sent
	met     chan struct{} // closed when welcome is set
	welcome wire.Welcome
	over    chan struct{} // closed when the connection has ended
	bye     chan struct{} // closed when the helper said goodbye
	reader  sync.WaitGroup

	mu    sync.Mutex
	calls map[uint32]*pending
	next  uint32
	pongs []chan struct{} // who waits for one, oldest first
	err   error           // why it ended; set before over is closed
}

// errLost is in the chain of the error of a call whose connection ended.
var errLost = errors.New("the connection to the helper was lost")

// newConn begins a connection by sending the hello; the welcome comes later.
func newConn(stream io.ReadWriteCloser, o Options, h wire.Hello) *conn {
	c := &conn{
		stream: stream, out: wire.NewWriter(stream), ready: make(chan struct{}), met: make(chan struct{}),
		over: make(chan struct{}), bye: make(chan struct{}), calls: map[uint32]*pending{},
	}
	c.out.Compress(o.Compress)
	c.reader.Go(c.read)
	c.reader.Go(func() { c.keepAlive(o.Keepalive, o.KeepaliveCount) })
	c.reader.Go(func() {
		c.write(wire.Frame{Type: wire.TypeHello, Payload: wire.Encode(&h)})
		close(c.ready)
	})
	return c
}

// greeted waits for the welcome.
func (c *conn) greeted(ctx context.Context) (wire.Welcome, error) {
	select {
	case <-c.met:
		return c.welcome, nil
	case <-c.over:
		return wire.Welcome{}, c.lost()
	case <-ctx.Done():
		return wire.Welcome{}, context.Cause(ctx)
	}
}

// read takes the helper's frames until the connection ends. It never waits for a
// caller.
func (c *conn) read() {
	in := wire.NewReader(bufio.NewReaderSize(c.stream, 64<<10))
	for {
		f, err := in.Read()
		if err == nil {
			c.heard.Add(1)
			err = c.take(f)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// take passes a frame on. An error is the other side's fault, or its farewell.
func (c *conn) take(f wire.Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch f.Type {
	case wire.TypeWelcome:
		select {
		case <-c.met:
			return outOfPlace(f)
		default:
		}
		if err := wire.Decode(f.Payload, &c.welcome); err != nil {
			return err
		}
		close(c.met)
		return nil
	case wire.TypePing:
		go c.send(wire.Frame{Type: wire.TypePong})
		return nil
	case wire.TypePong:
		if len(c.pongs) > 0 {
			close(c.pongs[0])
			c.pongs = c.pongs[1:]
		}
		return nil
	case wire.TypeBye:
		close(c.bye)
		return io.EOF
	case wire.TypeItem, wire.TypeMore, wire.TypeResult, wire.TypeError:
		return c.answer(f)
	case wire.TypeHello, wire.TypeUpload, wire.TypePart, wire.TypeRequest, wire.TypeCancel, wire.TypeCredit:
	}
	return outOfPlace(f)
}

func outOfPlace(f wire.Frame) error {
	return fmt.Errorf("%w: a frame of type %q is out of place", wire.ErrProtocol, byte(f.Type))
}

// answer takes a frame of a request. The caller holds the lock.
func (c *conn) answer(f wire.Frame) error {
	if f.Request == 0 && f.Type == wire.TypeError { // the helper ends the connection
		var m wire.Failure
		if err := wire.Decode(f.Payload, &m); err != nil {
			return err
		}
		return &refusal{m}
	}
	p := c.calls[f.Request]
	if p == nil {
		return outOfPlace(f)
	}
	last, err := p.take(f)
	if last {
		delete(c.calls, f.Request)
	}
	return err
}

// refusal is why the helper ended the connection.
type refusal struct{ wire.Failure }

func (r *refusal) Error() string { return r.Err("").Error() }
func (r *refusal) Unwrap() error { return r.Err("") }

// fail ends the connection and all calls on it.
func (c *conn) fail(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	close(c.over)
	c.mu.Unlock()
	_ = c.stream.Close()
}

func (c *conn) alive() bool {
	select {
	case <-c.over:
		return false
	default:
		return true
	}
}

// lost is the error of a call that the end of the connection ended.
func (c *conn) lost() error { return fmt.Errorf("%w: %w", errLost, c.err) }

// send writes a frame, after the hello. It may block as long as the link is up.
func (c *conn) send(f wire.Frame) {
	<-c.ready
	c.write(f)
}

func (c *conn) write(f wire.Frame) {
	if err := c.out.Write(f); err != nil {
		c.fail(err)
	}
}

// ping waits until the helper has taken everything that was sent before.
func (c *conn) ping(ctx context.Context) error { return c.awaitSign(ctx, c.askSign()) }

// askSign asks the helper for a sign that it has taken everything that was sent
// before.
func (c *conn) askSign() <-chan struct{} {
	pong := make(chan struct{})
	c.mu.Lock()
	c.pongs = append(c.pongs, pong)
	c.mu.Unlock()
	c.send(wire.Frame{Type: wire.TypePing})
	return pong
}

func (c *conn) awaitSign(ctx context.Context, sign <-chan struct{}) error {
	select {
	case <-sign:
		return nil
	case <-c.over:
		return c.lost()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keepAlive asks a silent helper for a sign, and gives it up when none comes.
// After a gap in its own time, as of a machine that slept, it begins anew (hazard
// SSHC-11).
func (c *conn) keepAlive(interval time.Duration, count int) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	seen, missed := int64(-1), 0
	last := time.Now().Round(0) // the wall clock goes on while a machine sleeps
	for {
		select {
		case <-c.over:
			return
		case <-ticker.C:
		}
		now := time.Now().Round(0)
		slept := now.Sub(last) > interval*3/2
		last = now
		switch n := c.heard.Load(); {
		case n != seen || slept:
			seen, missed = n, 0
		default:
			missed++
		}
		if missed > count {
			c.fail(redial.ErrSilent)
			return
		}
		// A write may block on a dead link: it must not hold up the watch.
		go c.send(wire.Frame{Type: wire.TypePing})
	}
}

// close ends the connection; after a goodbye, in which the helper ends everything,
// if there is time.
func (c *conn) close(ctx context.Context, goodbye bool) {
	if goodbye && c.alive() {
		go c.send(wire.Frame{Type: wire.TypeBye})
		select {
		case <-c.over:
		case <-ctx.Done():
		}
	}
	c.fail(errClosed)
	c.reader.Wait()
}

// errClosed ends the calls of a workspace that is closed.
var errClosed = errors.New("the workspace is closed")

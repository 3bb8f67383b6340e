//go:build linux

package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/piremote/piremote/backends/helper/wire"
)

const (
	// maxCalls is the number of requests that may be under way on a connection.
	maxCalls = 512
	// readBuffer is that of the stream; frames are mostly small.
	readBuffer = 64 << 10
)

// stream is what carries a connection. Close unblocks a Read and a Write.
type stream interface {
	io.ReadWriteCloser
}

// conn is a connection of a session.
type conn struct {
	session *session
	stream  stream
	in      *wire.Reader
	out     *wire.Writer
	extra   bool

	ctx    context.Context //nolint:containedctx // of everything that it asked for
	cancel context.CancelFunc

	mu     sync.Mutex
	cut    bool // nothing that it brings counts any more
	bye    bool // it ends with a goodbye, which has to be answered
	calls  map[uint32]*call
	active sync.WaitGroup
}

// newReader returns a reader of frames.
func newReader(s io.Reader) *wire.Reader { return wire.NewReader(bufio.NewReaderSize(s, readBuffer)) }

// farewellLimit bounds how long the answer to a goodbye may take, with the ending
// of everything.
const farewellLimit = 20 * time.Second

// serve obeys the connection until it ends, and returns why; nil after a goodbye,
// for which it calls goodbye.
// Requests under way are ended, but for changes, which run to their end, and for
// commands, which are the session's.
func (c *conn) serve(silence time.Duration, goodbye func()) error {
	defer c.active.Wait()
	defer c.leave()
	alarm := newWatchdog(silence, func() { _ = c.stream.Close() })
	defer alarm.stop()
	for {
		f, err := c.in.Read()
		bye := false
		if err == nil {
			alarm.reset()
			bye, err = c.take(f)
		}
		if errors.Is(err, wire.ErrProtocol) || errors.Is(err, errTakenOver) {
			c.refuse(err)
		}
		if bye {
			time.AfterFunc(farewellLimit, func() { _ = c.stream.Close() })
			goodbye()
		}
		if err != nil || bye {
			return err
		}
	}
}

// take does what a frame says. An error is the other side's fault.
func (c *conn) take(f wire.Frame) (bye bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return false, errTakenOver
	}
	switch f.Type {
	case wire.TypePing:
		go c.send(wire.Frame{Type: wire.TypePong}) // a write may block, and nothing here may
	case wire.TypePong:
	case wire.TypeBye:
		c.bye = true
		return true, nil
	case wire.TypeRequest:
		return false, c.begin(f)
	case wire.TypeCancel:
		if k := c.calls[f.Request]; k != nil {
			k.cancel()
		}
	case wire.TypeCredit:
		var m wire.Credit
		if err := wire.Decode(f.Payload, &m); err != nil {
			return false, err
		}
		if k := c.calls[f.Request]; k != nil {
			k.credit(int64(m.Bytes))
		}
	case wire.TypeUpload:
		var m wire.Upload
		if err := wire.Decode(f.Payload, &m); err != nil {
			return false, err
		}
		return false, c.session.uploads.announce(m)
	case wire.TypePart:
		var m wire.Part
		if err := wire.Decode(f.Payload, &m); err != nil {
			return false, err
		}
		err := c.session.uploads.add(m)
		c.in.Recycle(f.Payload) // it was copied
		return false, err
	case wire.TypeHello, wire.TypeWelcome, wire.TypeItem, wire.TypeMore, wire.TypeResult, wire.TypeError:
		return false, fmt.Errorf("%w: a frame of type %q is out of place", wire.ErrProtocol, byte(f.Type))
	default:
		return false, fmt.Errorf("%w: a frame has the unknown type %q", wire.ErrProtocol, byte(f.Type))
	}
	return false, nil
}

// begin starts a request. The caller holds the lock.
func (c *conn) begin(f wire.Frame) error {
	var m wire.Request
	if err := wire.Decode(f.Payload, &m); err != nil {
		return err
	}
	switch {
	case f.Request == 0 || c.calls[f.Request] != nil:
		return fmt.Errorf("%w: the request number %d is in use", wire.ErrProtocol, f.Request)
	case len(c.calls) >= maxCalls:
		return fmt.Errorf("%w: more than %d requests at once", wire.ErrProtocol, maxCalls)
	}
	method, ok := methods()[m.Method]
	if !ok {
		return fmt.Errorf("%w: the method %d is unknown", wire.ErrProtocol, m.Method)
	}
	ctx := c.ctx
	if m.Change != "" {
		// From here on the change is known, before anything else is read.
		if !c.session.journal.open(m.Change) {
			return fmt.Errorf("%w: two changes are named %q", wire.ErrProtocol, m.Change)
		}
		ctx = context.WithoutCancel(ctx) // the end of a connection doesn't stop a change
	}
	k := newCall(ctx, c, f.Request, m)
	c.calls[f.Request] = k
	c.active.Go(func() {
		defer k.cancel()
		k.run(method)
	})
	return nil
}

// finish forgets a request, so that its number may be used again.
func (c *conn) finish(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// send writes a frame. A connection that can't be written to ends by its reader.
func (c *conn) send(f wire.Frame) {
	if err := c.out.Write(f); err != nil {
		_ = c.stream.Close()
	}
}

// refuse tells the other side why the connection ends.
func (c *conn) refuse(err error) {
	c.send(wire.Frame{Type: wire.TypeError, Payload: wire.Encode(wire.FailureOf(err))})
}

// errTakenOver ends a connection whose session another one has taken over.
var errTakenOver = errors.New("another connection has taken the session over")

// leave lets nothing count any more that the connection brings, and closes it
// unless it waits for the answer to its goodbye.
func (c *conn) leave() {
	c.mu.Lock()
	c.cut = true
	bye := c.bye
	c.mu.Unlock()
	c.cancel()
	if !bye {
		_ = c.stream.Close()
	}
}

// gone reports whether the connection has ended, or counts no more.
func (c *conn) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

// watchdog calls a function when it was not reset for a while.
type watchdog struct {
	timer *time.Timer
	after time.Duration
}

func newWatchdog(after time.Duration, fire func()) *watchdog {
	if after <= 0 {
		return nil
	}
	return &watchdog{time.AfterFunc(after, fire), after}
}

func (w *watchdog) reset() {
	if w != nil {
		w.timer.Reset(w.after)
	}
}

func (w *watchdog) stop() {
	if w != nil {
		w.timer.Stop()
	}
}

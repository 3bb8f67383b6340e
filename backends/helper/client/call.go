package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/piremote/piremote/backends/helper/wire"
)

const (
	// window is how many bytes of items may be under way.
	window = 1 << 20
	// creditFrom is how many bytes of items are taken before that is said: what fits
	// the window costs no word.
	creditFrom = window / 2
	// maxResult is the largest result in bytes that a call takes, unless it asks
	// for more itself.
	maxResult = 64 << 20
	// lateAnswer is how long the answer to a canceled call is waited for where it
	// matters.
	lateAnswer = 10 * time.Second
)

// request is what a call asks for.
type request struct {
	method wire.Method
	body   wire.Message
	change string               // name of a change
	result wire.Message         // filled by the answer; nil if there is none
	each   func(b []byte) error // takes the items; nil if there are none
	limit  int64                // of the result; zero means maxResult
	spread func(func(c *conn))  // of a large body; nil for none
	// settle waits for the answer also when ctx has ended, so long at most.
	settle time.Duration
}

// pending is a request under way.
type pending struct {
	mu      sync.Mutex
	items   [][]byte
	queued  int64 // bytes of items that came and were not taken
	result  []byte
	limit   int64
	left    bool // nobody waits any more
	done    bool
	failure *wire.Failure
	changed chan struct{}
	asked   chan struct{} // closed when the request was sent
}

// take takes a frame of the answer.
func (p *pending) take(f wire.Frame) (last bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}()
	switch f.Type {
	case wire.TypeItem:
		if p.left {
			return false, nil
		}
		// What an item takes too much, the helper owes; so much it may have sent.
		if p.queued += int64(len(f.Payload)); p.queued > window+wire.MaxPayload {
			return false, fmt.Errorf("%w: it sent more than it was asked for", wire.ErrProtocol)
		}
		p.items = append(p.items, f.Payload)
		return false, nil
	case wire.TypeError:
		m := new(wire.Failure)
		if err := wire.Decode(f.Payload, m); err != nil {
			return false, err
		}
		p.done, p.failure = true, m
		return true, nil
	default:
	}
	if int64(len(p.result)+len(f.Payload)) > p.limit {
		return false, fmt.Errorf("%w: a result is larger than %d bytes", wire.ErrProtocol, p.limit)
	}
	if p.result == nil {
		p.result = f.Payload
	} else {
		p.result = append(p.result, f.Payload...)
	}
	p.done = f.Type == wire.TypeResult
	return p.done, nil
}

// next returns the items that came, and whether the answer is complete.
func (p *pending) next() (items [][]byte, done bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	items, p.items = p.items, nil
	return items, p.done
}

func (p *pending) taken(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued -= int64(n)
}

// leave gives the answer up: what still comes is thrown away.
func (p *pending) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.items, p.queued = true, nil, 0
}

// do makes a call on this connection. A connection that ends meanwhile is errLost.
func (c *conn) do(ctx context.Context, r request) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	from := &source{body: wire.EncodeBody(r.body)}
	defer from.release()
	p, id, err := c.register(r)
	if err != nil {
		return err
	}
	req := wire.Request{Method: r.method, Window: window, Change: r.change}
	if size := from.body.Len(); size > wire.InlineSize {
		req.Upload = randomUpload()
	} else {
		req.Body = from.body.AppendRange(make([]byte, 0, size), 0, size)
	}
	payload := wire.Encode(&req)
	go func() {
		defer close(p.asked)
		if req.Upload != 0 {
			c.upload(ctx, req.Upload, from, r.spread)
		}
		c.send(wire.Frame{Type: wire.TypeRequest, Request: id, Payload: payload})
	}()
	return c.await(ctx, r, p, id)
}

func (c *conn) register(r request) (*pending, uint32, error) {
	limit := r.limit
	if limit <= 0 {
		limit = maxResult
	}
	p := &pending{limit: limit, changed: make(chan struct{}, 1), asked: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errLost, c.err)
	}
	for {
		c.next++
		if c.next != 0 && c.calls[c.next] == nil {
			break
		}
	}
	c.calls[c.next] = p
	return p, c.next, nil
}

// await takes the answer.
func (c *conn) await(ctx context.Context, r request, p *pending, id uint32) error {
	canceled := ctx.Done()
	owed := 0
	var late <-chan time.Time
	for {
		items, done := p.next()
		for _, item := range items {
			if r.each == nil {
				c.fail(fmt.Errorf("%w: an item was not asked for", wire.ErrProtocol))
				return c.lost()
			}
			if err := r.each(item); errors.Is(err, wire.ErrProtocol) {
				c.fail(err)
				return c.lost()
			} else if err != nil {
				c.abandon(p, id)
				return err
			}
			p.taken(len(item))
			if owed += len(item); owed >= creditFrom {
				go c.send(wire.Frame{Type: wire.TypeCredit, Request: id, Payload: wire.Encode(&wire.Credit{Bytes: uint32(owed)})}) //nolint:gosec // less than two windows
				owed = 0
			}
		}
		if done {
			return c.finish(r, p)
		}
		select {
		case <-p.changed:
		case <-c.over:
			if items, done := p.next(); done && len(items) == 0 {
				return c.finish(r, p)
			}
			return c.lost()
		case <-canceled:
			if r.settle <= 0 {
				c.abandon(p, id)
				return context.Cause(ctx)
			}
			go c.cancel(p, id)
			timer := time.NewTimer(r.settle)
			defer timer.Stop()
			canceled, late = nil, timer.C
		case <-late:
			p.leave()
			return errNoAnswer
		}
	}
}

// errNoAnswer is the error of a call that was canceled and did not end.
var errNoAnswer = fmt.Errorf("no answer came within %v", lateAnswer)

// abandon cancels a request and gives its answer up.
func (c *conn) abandon(p *pending, id uint32) {
	p.leave()
	go c.cancel(p, id)
}

// cancel asks the helper to end a request, which it must know before.
func (c *conn) cancel(p *pending, id uint32) {
	<-p.asked
	c.send(wire.Frame{Type: wire.TypeCancel, Request: id})
}

// finish decodes a complete answer.
func (c *conn) finish(r request, p *pending) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure != nil {
		return &refusal{*p.failure}
	}
	if r.result == nil {
		return nil
	}
	if err := wire.Decode(p.result, r.result); err != nil {
		c.fail(err)
		return c.lost()
	}
	return nil
}

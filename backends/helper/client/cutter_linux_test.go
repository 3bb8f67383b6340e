package client_test

import (
	"errors"
	"io"
	"sync"
)

// cutter is a stream that breaks after so many bytes in one direction, for both:
// either it is closed, or it goes silent, and neither side hears of it.
type cutter struct {
	io.ReadWriteCloser

	mu       sync.Mutex
	silent   bool
	up, down int // bytes until the cut; negative: never
	ups      int // bytes that went up since arm
	downs    int
	dead     bool          // it has gone silent
	gone     chan struct{} // closed when this end is
}

func newCutter(s io.ReadWriteCloser) *cutter {
	return &cutter{ReadWriteCloser: s, up: -1, down: -1, gone: make(chan struct{})}
}

func (c *cutter) arm(up, down int, silent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up, c.down, c.ups, c.downs, c.silent = up, down, 0, 0, silent
}

func (c *cutter) counts() (ups, downs int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ups, c.downs
}

// pass takes n bytes from a budget and returns how many may pass, and whether the
// stream goes on.
func (c *cutter) pass(budget, count *int, n int) (passed int, alive bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*count += n
	switch {
	case c.dead:
		return 0, false
	case *budget < 0 || n <= *budget:
		if *budget > 0 {
			*budget -= n
		}
		return n, true
	}
	n, *budget = *budget, 0
	c.dead = c.silent
	return n, false
}

// lost reports whether the stream has gone silent.
func (c *cutter) lost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

var errCut = errors.New("cut")

func (c *cutter) Write(b []byte) (int, error) {
	n, alive := c.pass(&c.up, &c.ups, len(b))
	written, err := c.ReadWriteCloser.Write(b[:n])
	switch {
	case c.lost():
		return len(b), nil // there is room for it on the way
	case alive || err != nil:
		return written, err
	}
	_ = c.Close()
	return written, errCut
}

func (c *cutter) Read(b []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(b)
	n, alive := c.pass(&c.down, &c.downs, n)
	switch {
	case c.lost() && n == 0:
		<-c.gone
		return 0, errCut
	case alive || err != nil || c.lost():
		return n, err
	}
	_ = c.Close()
	return n, errCut
}

// Close closes this end. The other one does not hear of it over a silent link.
func (c *cutter) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.gone:
	default:
		close(c.gone)
	}
	if c.dead {
		return nil
	}
	return c.ReadWriteCloser.Close()
}

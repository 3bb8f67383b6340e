package servertest

import (
	"io"
	"sync"
)

// Link returns the two ends of a stream. What is written waits in memory, without a
// bound, until it is read. Closing an end ends both directions: what it sent before
// can still be read at the other end, then that reads io.EOF; what is written there
// is an io.ErrClosedPipe.
func Link() (a, b io.ReadWriteCloser) {
	up, down := newQueue(), newQueue()
	return &end{in: down, out: up}, &end{in: up, out: down}
}

// end is one end of a link.
type end struct{ in, out *queue }

func (e *end) Read(b []byte) (int, error)  { return e.in.read(b) }
func (e *end) Write(b []byte) (int, error) { return e.out.write(b) }

func (e *end) Close() error {
	e.in.close(true)
	e.out.close(false)
	return nil
}

// queue is one direction.
type queue struct {
	mu      sync.Mutex
	changed *sync.Cond
	data    []byte
	closed  bool // nothing more is taken in
	left    bool // the reader is gone
}

func newQueue() *queue {
	q := &queue{}
	q.changed = sync.NewCond(&q.mu)
	return q
}

func (q *queue) read(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.data) == 0 && !q.closed && !q.left {
		q.changed.Wait()
	}
	switch {
	case q.left:
		return 0, io.ErrClosedPipe
	case len(q.data) == 0:
		return 0, io.EOF
	}
	n := copy(b, q.data)
	q.data = q.data[n:]
	return n, nil
}

func (q *queue) write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, io.ErrClosedPipe
	}
	q.data = append(q.data, b...)
	q.changed.Broadcast()
	return len(b), nil
}

// close ends the direction, at its reading end or at the other.
func (q *queue) close(reader bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	if reader {
		q.left, q.data = true, nil
	}
	q.changed.Broadcast()
}

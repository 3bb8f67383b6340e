package docker

import "sync"

// gate lets output through until it is closed.
type gate struct {
	mu     sync.Mutex
	closed bool
}

func (g *gate) wrap(deliver func([]byte)) func([]byte) {
	if deliver == nil {
		return nil
	}
	return func(p []byte) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.closed {
			deliver(p)
		}
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// beginning keeps the start of an output, where the runtime's own text would be.
type beginning struct{ b []byte }

func (t *beginning) add(p []byte) {
	const enough = 1024
	t.b = append(t.b, p[:min(len(p), enough-len(t.b))]...)
}

func (t *beginning) String() string { return string(t.b) }

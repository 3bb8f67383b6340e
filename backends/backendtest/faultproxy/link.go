package faultproxy

import (
	"net"
	"sync"
	"time"
)

// queued is how many pieces may be under way in one direction.
const queued = 4096

// link is one connection through the proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	once           sync.Once
	done           chan struct{}
	stalled        bool // it drops everything; the proxy's lock guards it
}

// reset ends both sides with RST.
func (l *link) reset() {
	l.once.Do(func() {
		close(l.done)
		abort(l.client)
		abort(l.server)
	})
}

func abort(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// piece is some bytes and when they are delivered; nil data is the end of input.
type piece struct {
	data []byte
	due  time.Time
}

// pass carries one direction to its end.
func (l *link) pass(d Direction, from, to net.Conn) {
	pieces := make(chan piece, queued)
	var wg sync.WaitGroup
	wg.Go(func() { l.deliver(d, to, pieces) })
	defer wg.Wait()
	defer close(pieces)
	var free time.Time // when the narrow link is free again
	for {
		buf := make([]byte, 32<<10)
		n, err := from.Read(buf)
		now := time.Now()
		l.proxy.mu.Lock()
		delay, rate := l.proxy.delay, l.proxy.rate
		l.proxy.mu.Unlock()
		start := now
		if rate > 0 {
			if free.After(start) {
				start = free
			}
			free = start.Add(time.Duration(float64(n) / float64(rate) * float64(time.Second)))
			start = free
		}
		if n > 0 && !l.put(pieces, piece{buf[:n], start.Add(delay)}) {
			return
		}
		if err != nil {
			l.put(pieces, piece{nil, start.Add(delay)})
			return
		}
	}
}

func (l *link) put(pieces chan<- piece, p piece) bool {
	select {
	case pieces <- p:
		return true
	case <-l.done:
		return false
	}
}

func (l *link) deliver(d Direction, to net.Conn, pieces <-chan piece) {
	for p := range pieces {
		if wait := time.Until(p.due); wait > 0 {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-l.done:
				t.Stop()
				continue // drain
			}
		}
		if !l.send(d, to, p) {
			l.reset()
		}
	}
}

// send writes one piece and reports whether the link goes on.
func (l *link) send(d Direction, to net.Conn, p piece) bool {
	data, hole, cut := l.proxy.admit(l, d, p.data)
	switch {
	case hole:
		return true
	case p.data == nil:
		if t, ok := to.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
		return true
	}
	_, err := to.Write(data)
	return err == nil && !cut
}

// admit counts a piece and says how much of it passes.
func (p *Proxy) admit(l *link, d Direction, data []byte) (pass []byte, hole, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hole || l.stalled {
		return nil, true, false
	}
	if data == nil {
		return nil, false, false
	}
	if left := p.cuts[d]; left >= 0 {
		if int64(len(data)) >= left {
			data, cut, p.cuts[d] = data[:left], true, -1
		} else {
			p.cuts[d] = left - int64(len(data))
		}
	}
	if left := p.stalls[d]; left >= 0 {
		if int64(len(data)) >= left {
			data, p.stalls[d] = data[:left], -1
			for l := range p.links {
				l.stalled = true
			}
		} else {
			p.stalls[d] = left - int64(len(data))
		}
	}
	if d == Up {
		p.counts.Up += int64(len(data))
	} else {
		p.counts.Down += int64(len(data))
	}
	if d != p.last {
		p.last = d
		p.counts.Switches++
	}
	return data, false, cut
}

package faultproxy

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Options describes a proxy.
type Options struct {
	// Target is the host:port that connections are passed to.
	Target string
	// Delay is added to each direction; a round trip takes twice as long.
	Delay time.Duration
	// Bandwidth bounds each direction of each connection in bytes a second;
	// zero means no bound.
	Bandwidth int64
}

// Direction is one of the two ways through the proxy.
type Direction int

// The directions: Up goes to the target, Down comes back.
const (
	Up Direction = iota
	Down
)

// Counts is what passed since the proxy started or ResetCounts was called.
type Counts struct {
	Connections int   // accepted
	Up, Down    int64 // bytes delivered
	// Switches counts how often the direction of delivery changed. Half of it
	// is the number of round trips of a protocol that does one thing at a time.
	Switches int
}

// Proxy listens on a free loopback port. All methods may be called concurrently.
type Proxy struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu     sync.Mutex
	delay  time.Duration
	rate   int64
	hole   bool
	refuse bool
	cuts   [2]int64 // bytes left before the cut; -1 for none
	stalls [2]int64 // as cuts
	links  map[*link]struct{}
	counts Counts
	last   Direction
	closed bool
}

// Listen starts a proxy. The caller closes it.
func Listen(ctx context.Context, o Options) (*Proxy, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		listener: l, target: o.Target, delay: o.Delay, rate: o.Bandwidth,
		cuts: [2]int64{-1, -1}, stalls: [2]int64{-1, -1}, links: map[*link]struct{}{}, last: Down,
	}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr returns the host:port to connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Port returns the port to connect to.
func (p *Proxy) Port() int {
	if a, ok := p.listener.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// SetDelay changes the latency of each direction from the next byte on.
func (p *Proxy) SetDelay(d time.Duration) { p.set(func() { p.delay = d }) }

// SetBandwidth changes the bound; zero means none.
func (p *Proxy) SetBandwidth(bytesPerSecond int64) { p.set(func() { p.rate = bytesPerSecond }) }

// BlackHole drops every byte of both directions without closing anything, as a
// link does that was unplugged. Bytes that were dropped never arrive.
func (p *Proxy) BlackHole(on bool) { p.set(func() { p.hole = on }) }

// Refuse resets new connections at once.
func (p *Proxy) Refuse(on bool) { p.set(func() { p.refuse = on }) }

// CutAfter resets the connections as soon as n more bytes went in direction d.
// The cut happens once.
func (p *Proxy) CutAfter(d Direction, n int64) { p.set(func() { p.cuts[d] = n }) }

// StallAfter is a black hole for the connections that are present as soon as n more
// bytes went in direction d; new ones pass. It happens once; a negative n calls it
// off, as it does for CutAfter.
func (p *Proxy) StallAfter(d Direction, n int64) { p.set(func() { p.stalls[d] = n }) }

// Reset resets all present connections (RST on both sides).
func (p *Proxy) Reset() {
	p.mu.Lock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		l.reset()
	}
}

// Counts returns the counters.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts
}

// ResetCounts sets the counters to zero; the next byte up is a switch.
func (p *Proxy) ResetCounts() { p.set(func() { p.counts, p.last = Counts{}, Down }) }

// Open returns the number of present connections.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Close stops listening, resets the connections and waits for all goroutines.
func (p *Proxy) Close() error {
	p.set(func() { p.closed = true })
	err := p.listener.Close()
	p.Reset()
	p.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(c) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	refuse := p.refuse || p.closed
	p.counts.Connections++
	p.mu.Unlock()
	if refuse {
		abort(client)
		return
	}
	d := net.Dialer{Timeout: 5 * time.Second}
	server, err := d.DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		abort(client)
		return
	}
	l := &link{proxy: p, client: client, server: server, done: make(chan struct{})}
	p.mu.Lock()
	closed := p.closed
	p.links[l] = struct{}{}
	p.mu.Unlock()
	if closed {
		l.reset()
	}
	var both sync.WaitGroup
	both.Go(func() { l.pass(Up, client, server) })
	both.Go(func() { l.pass(Down, server, client) })
	both.Wait()
	l.reset()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

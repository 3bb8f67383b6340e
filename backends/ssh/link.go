package ssh

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	gossh "golang.org/x/crypto/ssh"
)

// link is an authenticated connection with everything that it rests on.
type link struct {
	*gossh.Client
	raw   *watchedConn
	label string // of the host
	addr  string
	asked bool // a person was asked for something; don't dial again unasked

	done chan struct{} // closed when the connection is over
	deaf atomic.Bool   // it ended because the other side stopped answering
	once sync.Once

	mu    sync.Mutex
	open  int           // session channels that are not closed on both sides
	limit int           // channels that the server is known to allow; 0 if not known
	freed chan struct{} // closed and replaced when a channel is closed
}

func newLink(client *gossh.Client, raw *watchedConn, h hop, asked bool) *link {
	l := &link{Client: client, raw: raw, label: h.label(), addr: h.address(), asked: asked, done: make(chan struct{}), freed: make(chan struct{})}
	go func() {
		_ = client.Wait() // why it ended is of no use to a caller
		l.close()
	}()
	return l
}

// close ends the connection at once, without a word to the other side: nothing
// here may wait for it (hazard SSHC-04). It may be called more than once.
func (l *link) close() {
	l.once.Do(func() {
		_ = l.raw.Close()
		_ = l.Client.Close() //nolint:staticcheck // the embedded Close would not say whose
		close(l.done)
	})
}

func (l *link) alive() bool {
	select {
	case <-l.done:
		return false
	default:
		return true
	}
}

// aliveSoon reports whether the link is alive, when something just ended that may
// have ended with it: the link's own end is told a moment later.
func (l *link) aliveSoon() bool {
	timer := time.NewTimer(200 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-l.done:
		return false
	case <-timer.C:
		return true
	}
}

// keepAlive closes the link when nothing came from the other side during count
// intervals although it was asked (hazard SSHC-02). It returns when the link is
// over or stop is closed.
//
// A machine that slept must not judge the link by the time that it slept: after
// a gap there is a fresh probe with the full budget (SSHC-11).
func (l *link) keepAlive(interval time.Duration, count int, stop <-chan struct{}) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	answered := make(chan struct{}, 1)
	waiting, missed := false, 0
	last := time.Now().Round(0) // the wall clock goes on while a machine sleeps
	seen := l.raw.received.Load()
	for {
		select {
		case <-l.done:
			return
		case <-stop:
			return
		case <-answered:
			waiting, missed = false, 0
			continue
		case <-ticker.C:
		}
		now := time.Now().Round(0)
		if now.Sub(last) > interval*3/2 {
			missed = 0
		}
		last = now
		if n := l.raw.received.Load(); n != seen {
			seen, missed = n, 0
		} else if waiting {
			if missed++; missed >= count {
				l.deaf.Store(true)
				l.close()
				return
			}
		}
		if !waiting {
			waiting = true
			// The request itself may never be answered: it must not hold up the
			// watch. It ends with the connection.
			go func() {
				if _, _, err := l.SendRequest("keepalive@openssh.com", true, nil); err == nil {
					answered <- struct{}{}
				}
			}()
		}
	}
}

// answers waits until the other side answers, and so has sent what it had before. It
// reports false when the link ends, or over is closed, instead.
func (l *link) answers(over <-chan struct{}) bool {
	answered := make(chan struct{})
	go func() {
		// It ends with the connection, as in keepAlive.
		if _, _, err := l.SendRequest("keepalive@openssh.com", true, nil); err == nil {
			close(answered)
		}
	}()
	select {
	case <-answered:
		return true
	case <-l.done:
	case <-over:
	}
	return false
}

// watchedConn counts what comes in.
type watchedConn struct {
	net.Conn
	banner   func() // called when the line with the version has come; may be nil
	start    []byte // of the line that comes
	received atomic.Int64
	over     atomic.Bool // nothing more comes; set before anybody can know
}

// Read implements net.Conn.
func (w *watchedConn) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.received.Add(int64(n))
	if err != nil {
		w.over.Store(true)
	}
	w.look(p[:n])
	return n, err
}

// look waits for the end of the line with the version.
func (w *watchedConn) look(p []byte) {
	const begins = "SSH-"
	for _, b := range p {
		switch {
		case w.banner == nil:
			return
		case b != '\n':
			if len(w.start) < len(begins) {
				w.start = append(w.start, b)
			}
		case string(w.start) == begins:
			w.banner()
			w.banner = nil
		default:
			w.start = w.start[:0] // servers may say something before
		}
	}
}

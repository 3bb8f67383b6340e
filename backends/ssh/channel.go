package ssh

import (
	"context"
	"errors"
	"sync"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/internal/redial"
	"github.com/piremote/piremote/tools/ops"
)

// channel is a session channel. Its slot is free again when both sides have
// closed it, not before: servers count it until then.
type channel struct {
	gossh.Channel
	link *link

	status     chan struct{} // closed when a status is known or none can come
	statusOnce sync.Once
	closed     chan struct{} // closed when the other side has closed the channel

	mu     sync.Mutex
	exited bool
	code   int
	signal string
}

// openSession opens a session channel on l.
func (l *link) openSession() (*channel, error) {
	ch, requests, err := l.OpenChannel("session", nil)
	if err != nil {
		return nil, err
	}
	c := &channel{Channel: ch, link: l, status: make(chan struct{}), closed: make(chan struct{})}
	go c.serve(requests)
	return c, nil
}

// serve takes the other side's requests, of which the exit status is one, at the
// moment they come.
func (c *channel) serve(requests <-chan *gossh.Request) {
	for r := range requests {
		switch r.Type {
		case "exit-status":
			var p struct{ Status uint32 }
			if gossh.Unmarshal(r.Payload, &p) == nil {
				c.ended(int(p.Status&0xff), "")
			}
		case "exit-signal":
			var p struct {
				Signal     string
				CoreDumped bool
				Message    string
				Language   string
			}
			if gossh.Unmarshal(r.Payload, &p) == nil {
				c.ended(128+signalNumber(p.Signal), plain(p.Signal))
			}
		}
		if r.WantReply {
			_ = r.Reply(false, nil) // the link's end is noticed elsewhere
		}
	}
	c.statusOnce.Do(func() { close(c.status) })
	close(c.closed)
	c.link.leave()
}

func (c *channel) ended(code int, signal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exited {
		return
	}
	c.exited, c.code, c.signal = true, code, signal
	c.statusOnce.Do(func() { close(c.status) })
}

// exit returns how the process ended; ok is false if that is not known.
func (c *channel) exit() (code int, signal string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code, c.signal, c.exited
}

// abandon closes the channel without waiting for the other side.
func (c *channel) abandon() {
	go func() { _ = c.Close() }() // may block on a dead link, until that is closed
}

// signalNumber maps the names of RFC 4254, 6.10, and those that servers send
// besides.
func signalNumber(name string) int {
	for n, s := range map[int]string{
		1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1", 11: "SEGV",
		12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 24: "XCPU", 25: "XFSZ", 31: "SYS",
	} {
		if s == name {
			return n
		}
	}
	return 127 // unknown: 255, never a success
}

// enter takes a slot if the server is not known to refuse it.
func (l *link) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit > 0 && l.open >= l.limit {
		return false
	}
	l.open++
	return true
}

// leave gives a slot back.
func (l *link) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	close(l.freed)
	l.freed = make(chan struct{})
}

// refused learns from a refusal: what is open now is what the server allows.
func (l *link) refused() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.limit = max(1, l.open)
}

// forget lets the limit be learned anew: a slot may have been held by a process
// that outlived its channel.
func (l *link) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit > 0 && l.open >= l.limit {
		l.limit = l.open + 1
	}
}

// slots is the number of channels that the server is known to allow.
func (l *link) slots() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}

func (l *link) waitFreed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.freed
}

// errBusy reports that the server has no channel left on this connection.
var errBusy = errors.New("the server has no session channel left")

// tryOpen opens a session channel on l, or says errBusy. A refusal never closes
// the connection (hazard SSHX-05).
func (l *link) tryOpen(ctx context.Context) (*channel, error) {
	if !l.enter() {
		return nil, errBusy
	}
	type result struct {
		c   *channel
		err error
	}
	done := make(chan result, 1)
	go func() {
		c, err := l.openSession()
		done <- result{c, err}
	}()
	select {
	case r := <-done:
		return l.opened(r.c, r.err)
	case <-ctx.Done():
		go func() { // the answer comes, or the link ends
			if r := <-done; r.err == nil {
				r.c.abandon()
			} else {
				l.leave()
			}
		}()
		if cause := context.Cause(ctx); errors.Is(cause, errTimeout) {
			return nil, transport(ops.KindUnavailable, l.label, cause, "%s did not answer in time: no session channel was opened", l.addr)
		}
		return nil, ended(ctx)
	}
}

func (l *link) opened(c *channel, err error) (*channel, error) {
	if err == nil {
		return c, nil
	}
	var refusal *gossh.OpenChannelError
	switch {
	case errors.As(err, &refusal) && refusal.Reason != gossh.UnknownChannelType:
		l.refused()
		return nil, errBusy
	case errors.As(err, &refusal):
		l.leave()
		return nil, transport(ops.KindNoShell, l.label, err, "%s offers no sessions: %s", l.addr, plain(refusal.Message))
	}
	l.leave()
	return nil, l.lostError(err)
}

// why adds to the reason for which a call failed how the link ended. After a silence
// the same call makes no other attempt, which would most likely meet it too.
func (l *link) why(err error) error {
	if l.deaf.Load() {
		return errors.Join(redial.ErrSilent, err)
	}
	return err
}

// lostError is the error of a call that did not reach the server.
func (l *link) lostError(err error) error {
	return transport(ops.KindUnavailable, l.label, l.why(err), "the connection to %s was lost", l.addr)
}

// unknown is the error of an effect that was under way when the link broke.
func (l *link) unknown(err error) error {
	return transport(ops.KindOutcomeUnknown, l.label, l.why(err), "the connection to %s was lost while a command was under way; whether it took effect is not known", l.addr)
}

const (
	firstBackOff = 10 * time.Millisecond
	lastBackOff  = 500 * time.Millisecond
)

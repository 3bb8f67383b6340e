package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"regexp"
	"sync/atomic"
	"syscall"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/internal/redial"
	"github.com/piremote/piremote/tools/ops"
)

// phase is how far a connection has come.
type phase = string

const (
	phaseTCP    phase = "the TCP connection"
	phaseBanner phase = "the SSH banner"
	phaseKex    phase = "the key exchange"
	phaseAuth   phase = "authentication"
)

// maxJumps bounds the hosts on the way, so that a circle in ssh_config ends.
const maxJumps = 8

var errTimeout = fmt.Errorf("no answer in time: %w", context.DeadlineExceeded)

// stream is the byte stream to a host and what it rests on.
type stream struct {
	net.Conn
	below []func() // closes jump hosts, nearest first
}

// Close frees whatever waits for the stream, also where the other side is silent:
// the lowest connection is a TCP socket or a process of ours.
func (s *stream) Close() error {
	for i := len(s.below) - 1; i >= 0; i-- {
		s.below[i]()
	}
	return s.Conn.Close()
}

// dial connects to a host, through its jump hosts, within one deadline over
// every phase (hazard SSHC-01). ctx cancels in each of them. The deadline is gone
// once the connection stands.
func dial(ctx context.Context, o Options, h hop) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.ConnectTimeout, errTimeout)
	defer cancel()
	return dialDepth(ctx, o, h, 0)
}

func dialDepth(ctx context.Context, o Options, h hop, depth int) (*link, error) {
	raw, err := openStream(ctx, o, h, depth)
	if err != nil {
		return nil, err
	}
	l, err := handshake(ctx, o, h, raw)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return l, nil
}

// openStream opens the byte stream to a host. Where ssh_config demands a way
// round, there is no direct one (hazard SSHC-10).
func openStream(ctx context.Context, o Options, h hop, depth int) (*stream, error) {
	switch {
	case len(h.proxyJump) > 0:
		return jump(ctx, o, h, depth)
	case h.proxyCommand != "":
		conn, err := proxyCommand(h, o.Env)
		if err != nil {
			return nil, unavailable(h, fmt.Sprintf("the ProxyCommand for %s did not start: %v", h.address(), err), err)
		}
		return &stream{Conn: conn}, nil
	}
	conn, err := h.dialTCP(ctx)
	switch {
	case err == nil:
		return &stream{Conn: conn}, nil
	case ctx.Err() != nil:
		return nil, failed(ctx, h, phaseTCP, err)
	case ops.KindOf(err) != "":
		return nil, err
	}
	return nil, dialFailure(h.label(), h.address(), err)
}

// jump goes through the hosts of ProxyJump, each reached from the one before.
// Every one is authenticated like the last.
func jump(ctx context.Context, o Options, h hop, depth int) (*stream, error) {
	if depth+len(h.proxyJump) > maxJumps {
		return nil, unavailable(h, fmt.Sprintf("more than %d jump hosts on the way to %s; is there a circle in ssh_config?", maxJumps, h.name), nil)
	}
	var last *link
	var below []func()
	fail := func(err error) (*stream, error) {
		for i := len(below) - 1; i >= 0; i-- {
			below[i]()
		}
		return nil, err
	}
	for i, text := range h.proxyJump {
		userName, host, port, err := parseJump(text)
		if err != nil {
			return fail(unavailable(h, err.Error(), err))
		}
		next, err := resolve(ctx, o, host, userName, port)
		if err != nil {
			return fail(err)
		}
		if i == 0 {
			last, err = dialDepth(ctx, o, next, depth+len(h.proxyJump))
		} else {
			last, err = through(ctx, o, next, last, below)
		}
		if err != nil {
			return fail(err)
		}
		below = append([]func(){last.close}, below...)
	}
	conn, err := last.DialContext(ctx, "tcp", h.address())
	if err != nil {
		return fail(throughFailure(ctx, h, last.label, err))
	}
	return &stream{Conn: conn, below: below}, nil
}

// through connects to the next host by way of the last.
func through(ctx context.Context, o Options, next hop, last *link, below []func()) (*link, error) {
	conn, err := last.DialContext(ctx, "tcp", next.address())
	if err != nil {
		return nil, throughFailure(ctx, next, last.label, err)
	}
	l, err := handshake(ctx, o, next, &stream{Conn: conn, below: below})
	if err != nil {
		_ = conn.Close()
	}
	return l, err
}

func throughFailure(ctx context.Context, h hop, by string, err error) error {
	if ctx.Err() != nil {
		return failed(ctx, h, phaseTCP, err)
	}
	return unavailable(h, fmt.Sprintf("%s can't be reached through %s: %s", h.address(), by, plain(err.Error())), err)
}

// handshake authenticates both sides on a byte stream. The stream is closed when
// ctx ends, since nothing in the library takes a context.
func handshake(ctx context.Context, o Options, h hop, raw *stream) (*link, error) {
	keys, err := newHostKeys(h, o.Notice)
	if err != nil {
		return nil, err
	}
	var at atomic.Value
	at.Store(phaseBanner)
	a := &auth{options: o, hop: h}
	defer a.close()
	var keyErr error
	config := &gossh.ClientConfig{
		User: h.user, ClientVersion: "SSH-2.0-piremote",
		HostKeyCallback: func(host string, remote net.Addr, key gossh.PublicKey) error {
			if keyErr = keys.check(host, remote, key); keyErr == nil {
				at.Store(phaseAuth)
			}
			return keyErr
		},
		BannerCallback: func(text string) error {
			if text = plain(text); text != "" {
				o.Notice(h.label() + " says: " + text)
			}
			return nil
		},
	}
	h.algorithms.configure(config, keys.algorithms())
	a.configure(ctx, config)
	watched := &watchedConn{Conn: raw}
	watched.banner = func() {
		at.CompareAndSwap(phaseBanner, phaseKex)
		redial.Sign(ctx)
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	conn, channels, requests, err := gossh.NewClientConn(watched, h.keyAddress(), config)
	if !stop() && err == nil {
		_ = conn.Close()
		err = context.Cause(ctx)
	}
	if err == nil {
		return newLink(gossh.NewClient(conn, channels, requests), watched, h, a.asked), nil
	}
	if keyErr != nil {
		return nil, keyErr
	}
	reached, _ := at.Load().(phase)
	switch {
	case reached != phaseAuth || ctx.Err() != nil:
		return nil, failed(ctx, h, reached, err)
	case lost(err):
		return nil, a.cutOff(failed(ctx, h, reached, err))
	}
	return nil, a.refused(err)
}

// lost reports whether a handshake ended because the link broke or the other side
// went away, which says nothing about the keys.
func lost(err error) bool {
	for _, gone := range []error{
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, fs.ErrClosed, syscall.EPIPE, syscall.ECONNRESET,
	} {
		if errors.Is(err, gone) {
			return true
		}
	}
	var ne net.Error
	return errors.As(err, &ne) || tooBusy.MatchString(err.Error())
}

// tooBusy matches a disconnect of a server that has no time for anybody: service not
// available (7), connection lost (10), too many connections (12). The library has no
// type for it.
var tooBusy = regexp.MustCompile(`ssh: disconnect, reason (7|10|12):`)

// failed is the error of a connection that broke in a phase.
func failed(ctx context.Context, h hop, at phase, err error) error {
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if !errors.Is(cause, errTimeout) {
			return ended(ctx)
		}
		return unavailable(h, fmt.Sprintf("%s did not answer in time: %s was not complete", h.address(), at), &phaseError{at, cause})
	}
	what := plain(err.Error())
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		what = "the other side closed the connection"
	}
	return unavailable(h, fmt.Sprintf("%s can't be used: %s failed: %s", h.address(), at, what), &phaseError{at, err})
}

// phaseError is the cause of a connection that did not come about, with the phase in
// which it broke.
type phaseError struct {
	at  phase
	err error
}

// Error says what broke.
func (e *phaseError) Error() string { return e.at + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *phaseError) Unwrap() error { return e.err }

func unavailable(h hop, msg string, err error) error {
	return &ops.TransportError{Kind: ops.KindUnavailable, Target: h.label(), Err: err, Msg: msg}
}

package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// Host is a way to what listens on a host, such as a Docker daemon. It connects when
// it is first used, and again when a call needs it after the connection was lost. Its
// methods may be called concurrently.
type Host struct{ connection *connection }

// NewHost prepares a way to a host. Of the options those of the connection count; no
// folder is opened. Nothing is reached yet, but ssh_config is read.
func NewHost(ctx context.Context, o Options) (*Host, error) {
	o = o.withDefaults()
	h, err := resolve(ctx, o, o.Host, o.User, o.Port)
	if err != nil {
		return nil, err
	}
	return &Host{newConnection(o, h)}, nil
}

// Dial connects to what listens on the host; network is unix or tcp. ctx bounds the
// making of the connection, which ends with the host's. What can't be reached is a
// *ops.TransportError of KindUnavailable, also where the server forwards nothing, which
// it does not tell apart; other kinds are of the way to the host.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l, err := h.connection.get(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := l.DialContext(ctx, network, addr)
	switch {
	case err == nil:
		return newForwarded(conn), nil
	case ctx.Err() != nil:
		return nil, ended(ctx)
	}
	return nil, transport(ops.KindUnavailable, l.label, err, "%s on %s can't be reached: %s", addr, l.addr, plain(err.Error()))
}

// maxSaid bounds what Ask returns.
const maxSaid = 64 << 10

// Ask runs a program on the host without input and returns what it wrote to its
// standard output, up to 64 KiB, and its exit status. The words of argv are constants:
// a login shell of any kind reads them, so that none may hold a quote or a line end.
func (h *Host) Ask(ctx context.Context, argv ...string) (said string, code int, err error) {
	var out []byte
	status, err := runner{h.connection}.Run(ctx, posix.Process{Argv: argv, Stdout: func(p []byte) {
		out = append(out, p[:min(len(p), maxSaid-len(out))]...)
	}})
	return string(out), status.Code, err
}

// Start starts a program on the host whose standard input and output are the
// connection. ctx bounds the start. The words are as those of Ask.
func (h *Host) Start(ctx context.Context, argv ...string) (net.Conn, error) {
	p, err := starter{h.connection}.Exec(ctx, argv)
	if err != nil {
		return nil, err
	}
	return piped{Process: p}, nil
}

// Close ends the connection to the host and all that it carries.
func (h *Host) Close() error {
	h.connection.close()
	return nil
}

// forwarded is a connection through a host. The library's own Close waits for the
// other side before it lets go of who reads; this one does not.
type forwarded struct {
	net.Conn
	reader *io.PipeReader
	once   sync.Once
}

func newForwarded(conn net.Conn) *forwarded {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, conn)
		_ = w.CloseWithError(err) // never fails; nil is the end
	}()
	return &forwarded{Conn: conn, reader: r}
}

// Read implements net.Conn.
func (f *forwarded) Read(p []byte) (int, error) { return f.reader.Read(p) }

// CloseWrite ends one direction.
func (f *forwarded) CloseWrite() error {
	if c, ok := f.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close implements net.Conn.
func (f *forwarded) Close() error {
	f.once.Do(func() {
		_ = f.reader.CloseWithError(net.ErrClosed) // never fails
		go func() { _ = f.Conn.Close() }()         // may block on a dead link, until that is closed
	})
	return nil
}

// piped is a program as a connection.
type piped struct{ install.Process }

// A program has no address and no deadlines; the context does their work.

func (p piped) LocalAddr() net.Addr              { return proxyAddr{} }
func (p piped) RemoteAddr() net.Addr             { return proxyAddr{} }
func (p piped) SetDeadline(time.Time) error      { return nil }
func (p piped) SetReadDeadline(time.Time) error  { return nil }
func (p piped) SetWriteDeadline(time.Time) error { return nil }

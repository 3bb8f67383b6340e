package ssh

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/internal/redial"
	"github.com/piremote/piremote/tools/ops"
)

// hangUp passes so many bytes of a server and then says no more.
type hangUp struct {
	net.Conn
	left  atomic.Int64
	reset bool // in the hard way
}

// Write implements net.Conn.
func (h *hangUp) Write(p []byte) (int, error) {
	rest := h.left.Add(-int64(len(p)))
	if rest >= 0 {
		return h.Conn.Write(p)
	}
	if n := rest + int64(len(p)); n > 0 {
		_, _ = h.Conn.Write(p[:n])
	}
	h.end()
	return 0, syscall.EPIPE
}

func (h *hangUp) end() {
	tcp, ok := h.Conn.(*net.TCPConn)
	switch {
	case ok && !h.reset:
		_ = tcp.CloseWrite()
		return
	case ok:
		_ = tcp.SetLinger(0)
	}
	_ = h.Close()
}

// keyed starts a server that admits one key, which the options name.
func keyed(t *testing.T, change func(*fakeServer)) (*fakeServer, Options) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	key := writeKey(t, file, "")
	f := startFake(t, func(f *fakeServer) {
		f.config = &gossh.ServerConfig{PublicKeyCallback: func(_ gossh.ConnMetadata, k gossh.PublicKey) (*gossh.Permissions, error) {
			if string(k.Marshal()) != string(key.Marshal()) {
				return nil, errors.New("no such key")
			}
			return &gossh.Permissions{}, nil
		}}
		change(f)
	})
	o := f.options(t)
	o.IdentityFiles = []string{file}
	return f, o
}

// A server that hangs up has not refused the key, wherever in the handshake it does.
func TestSSHC04HangingUpIsNotARefusal(t *testing.T) {
	t.Parallel()
	for _, reset := range []bool{false, true} {
		t.Run(fmt.Sprintf("reset %v", reset), func(t *testing.T) {
			t.Parallel()
			var limit atomic.Int64
			_, o := keyed(t, func(f *fakeServer) {
				f.wrap = func(c net.Conn) net.Conn {
					h := &hangUp{Conn: c, reset: reset}
					h.left.Store(limit.Load())
					return h
				}
			})
			o = o.withDefaults()
			h, err := resolve(t.Context(), o, o.Host, o.User, o.Port)
			must(t, err)
			phases := map[phase]int{}
			for n := int64(0); ; n += 13 {
				limit.Store(n)
				l, err := dial(t.Context(), o, h)
				if err == nil {
					l.close()
					break
				}
				wantKind(t, fmt.Sprintf("after %d bytes", n), err, ops.KindUnavailable)
				var at *phaseError
				if errors.As(err, &at) {
					phases[at.at]++
				}
			}
			for _, p := range []phase{phaseKex, phaseAuth} {
				if phases[p] == 0 {
					t.Errorf("%s never broke: %v", p, phases)
				}
			}
		})
	}
}

// A call that needs a new link tries again when the first ones break while they
// authenticate. What was offered is said when all do.
func TestSSHC07LinkLostInAuthenticationIsMadeAgain(t *testing.T) {
	t.Parallel()
	var hangUps atomic.Int64
	f, o := keyed(t, func(f *fakeServer) {
		admit := f.config.PublicKeyCallback
		f.config.PublicKeyCallback = func(m gossh.ConnMetadata, k gossh.PublicKey) (*gossh.Permissions, error) {
			if hangUps.Add(-1) >= 0 {
				f.dropAll()
			}
			return admit(m, k)
		}
	})
	c := f.connect(t, func(to *Options) { to.IdentityFiles = o.IdentityFiles })
	first, err := c.get(t.Context())
	must(t, err)
	first.close()
	hangUps.Store(redial.Tries - 1)
	second, err := c.get(t.Context())
	must(t, err)
	if n := f.connections(); n != 1+redial.Tries {
		t.Errorf("%d connections", n)
	}
	second.close()
	hangUps.Store(redial.Tries)
	_, err = c.get(t.Context())
	wantKind(t, "all of them", err, ops.KindUnavailable, "authentication", "offered: SHA256:")
}

func TestLostIsToldFromRefused(t *testing.T) {
	disconnect := func(reason int) error {
		return fmt.Errorf("ssh: handshake failed: ssh: disconnect, reason %d: words", reason)
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{io.EOF, true},
		{io.ErrUnexpectedEOF, true},
		{&os.PathError{Op: "read", Path: "|0", Err: os.ErrClosed}, true},
		{&os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, true},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true},
		{disconnect(2), false}, // too many authentication failures
		{disconnect(7), true},
		{disconnect(10), true},
		{disconnect(12), true},
		{disconnect(14), false}, // no more methods
		{errors.New("ssh: unable to authenticate, attempted methods [none publickey]"), false},
	} {
		if got := lost(fmt.Errorf("ssh: handshake failed: %w", c.err)); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

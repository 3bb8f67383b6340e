package server

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/backends/local/supervisor"
)

// TestMain is also the supervisor of the commands that the tests run.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "supervise" {
		os.Exit(supervisor.Run(nil, os.Stderr)) //nolint:forbidigo // the program's own end
	}
	goleak.VerifyTestMain(m)
}

// peer is a client that may say anything.
type peer struct {
	net.Conn

	t      *testing.T
	in     *wire.Reader
	out    *wire.Writer
	served chan error // what Serve returned
}

// dial serves in this process.
func dial(t *testing.T, cache string) *peer {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		ends[i], err = net.FileConn(f)
		must(t, err)
		must(t, f.Close())
	}
	self, err := os.Executable()
	must(t, err)
	p := &peer{Conn: ends[0], t: t, in: wire.NewReader(ends[0]), out: wire.NewWriter(ends[0]), served: make(chan error, 1)}
	var serving sync.WaitGroup
	serving.Go(func() {
		p.served <- Serve(Options{
			In: ends[1], Out: ends[1], Env: []string{"PATH=/usr/bin:/bin"}, Home: "/", Self: self,
			Supervisor: self, SupervisorArgs: []string{"supervise"}, Cache: cache,
		})
	})
	t.Cleanup(func() {
		_ = p.Close() // it may be closed
		serving.Wait()
	})
	must(t, p.SetDeadline(time.Now().Add(time.Minute)))
	return p
}

// hello is a client's good first frame.
func hello() *wire.Hello {
	return &wire.Hello{Version: wire.Version, Session: "0123456789abcdef", Secret: "0123456789abcdef0123456789abcdef"}
}

// greet says hello and takes the welcome.
func (p *peer) greet(h *wire.Hello) wire.Welcome {
	p.t.Helper()
	p.say(wire.TypeHello, 0, h)
	f := p.hear()
	var w wire.Welcome
	if f.Type != wire.TypeWelcome {
		p.t.Fatalf("the answer to hello is %q", f.Type)
	}
	must(p.t, wire.Decode(f.Payload, &w))
	return w
}

// say sends a frame; the helper may have gone.
func (p *peer) say(kind wire.Type, id uint32, m wire.Message) {
	f := wire.Frame{Type: kind, Request: id}
	if m != nil {
		f.Payload = wire.Encode(m)
	}
	_ = p.out.Write(f)
}

func (p *peer) raw(text string) { _, _ = io.WriteString(p, text) } // as above

// ask sends a request.
func (p *peer) ask(id uint32, method wire.Method, body wire.Message) {
	p.say(wire.TypeRequest, id, &wire.Request{Method: method, Window: 1 << 20, Body: wire.Encode(body)})
}

// hear returns the next frame.
func (p *peer) hear() wire.Frame {
	p.t.Helper()
	f, err := p.in.Read()
	must(p.t, err)
	return f
}

// refused reads until the helper ends the connection, and returns why it did; nil
// if it did not say.
func (p *peer) refused() *wire.Failure {
	p.t.Helper()
	var last *wire.Failure
	for {
		f, err := p.in.Read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.t.Fatal("the connection does not end")
		}
		if err != nil {
			return last
		}
		if f.Type == wire.TypeError && f.Request == 0 {
			last = &wire.Failure{}
			must(p.t, wire.Decode(f.Payload, last))
		}
	}
}

// failure returns how a request failed; nil if it did not.
func (p *peer) failure(id uint32) *wire.Failure {
	p.t.Helper()
	for {
		f := p.hear()
		switch {
		case f.Request == id && f.Type == wire.TypeResult:
			return nil
		case f.Request == id && f.Type == wire.TypeError:
			var m wire.Failure
			must(p.t, wire.Decode(f.Payload, &m))
			return &m
		case f.Request == 0 && f.Type == wire.TypeError:
			p.t.Fatal("the connection was ended")
		}
	}
}

// end waits for Serve to return.
func (p *peer) end() error {
	p.t.Helper()
	select {
	case err := <-p.served:
		return err
	case <-time.After(time.Minute):
		p.t.Fatal("the helper does not end")
		return nil
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

//go:build linux

package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// Options describes the process that serves.
type Options struct {
	// In and Out are the process's own connection.
	In  io.ReadCloser
	Out io.WriteCloser
	// Env is the base environment of commands, and Home the account's home.
	Env  []string
	Home string
	// Self is the program that was started: with "supervise" it is a supervisor,
	// with "reside" it calls [Reside].
	Self string
	// Supervisor and SupervisorArgs are those of local.Options.
	Supervisor     string
	SupervisorArgs []string
	// Cache is a private folder of the account, for sockets, journals and locks;
	// empty means that sessions can't be resumed.
	Cache string
	// Program is the name of this program's file in Cache; empty if it lies elsewhere.
	Program string
	// Open opens the workspace of a session, at folders that are absolute, for the
	// first view; the set's At opens further ones. Nil opens the local engine, with
	// the options above.
	Open func(ctx context.Context, dir, root string, extra []ops.Root) (Workspace, error)
	// Processes are those of the account; nil means this machine's.
	Processes Processes
	// Interrupt ends the session when it is closed; nil never does.
	Interrupt <-chan struct{}
}

// Workspace is what a session works on. It belongs to the session, which ends it
// once. Without [local.PartReader] a session reads no whole files, and without the
// abilities of package ops it answers that they are not there.
type Workspace interface {
	// Set returns the operations, which are valid until End.
	Set() ops.Set
	// End ends everything that runs, which has so long to end by itself.
	End(grace time.Duration) error
}

func (o Options) processes() Processes {
	if o.Processes != nil {
		return o.Processes
	}
	return system{o.Self, o.Env}
}

// helloLimit is how long a client may take to say what it wants.
const helloLimit = 60 * time.Second

// Serve serves one connection until it ends: as the process of a new session, or
// by passing bytes on to the process that has the session already. It returns nil
// after a goodbye.
func Serve(o Options) error {
	defer o.use()()
	st := &pipes{o.In, o.Out}
	r := bufio.NewReaderSize(st, readBuffer)
	in := wire.NewReader(r)
	h, err := greet(st, in)
	if err != nil {
		return err
	}
	if h.Resume || h.Extra {
		socket, err := callSession(o, h.Session)
		if err == nil {
			return relay(st, r, socket, h)
		}
		if h.Extra {
			return turnAway(st, &ops.TransportError{Kind: ops.KindUnavailable, Target: "helper", Msg: "the session is not there any more", Err: err})
		}
	}
	if h.Lease > 0 && o.Cache != "" {
		socket, err := o.processes().Reside()
		if err != nil {
			return turnAway(st, err)
		}
		return relay(st, r, socket, h)
	}
	return host(o, st, in, h)
}

// Reside is the process of a session that outlives its connections. o.In and
// o.Out are its first one.
func Reside(o Options) error {
	defer o.use()()
	st := &pipes{o.In, o.Out}
	in := newReader(st)
	h, err := greet(st, in)
	if err != nil {
		return err
	}
	return host(o, st, in, h)
}

// greet reads the client's first frame.
func greet(st stream, in *wire.Reader) (wire.Hello, error) {
	late := time.AfterFunc(helloLimit, func() { _ = st.Close() })
	defer late.Stop()
	var h wire.Hello
	f, err := in.Read()
	switch {
	case err != nil:
	case f.Type != wire.TypeHello:
		err = fmt.Errorf("%w: the first frame is of type %q", wire.ErrProtocol, byte(f.Type))
	default:
		err = wire.Decode(f.Payload, &h)
	}
	switch {
	case err != nil:
	case h.Version != wire.Version:
		err = &ops.TransportError{
			Kind: ops.KindProtocol, Target: "helper",
			Msg: fmt.Sprintf("the client speaks version %d of the protocol and the helper version %d: use the helper that belongs to the client", h.Version, wire.Version),
		}
	case !validName(h.Session) || len(h.Secret) < minSecret:
		err = fmt.Errorf("%w: the session has no proper name or secret", wire.ErrProtocol)
	}
	if err != nil {
		return h, turnAway(st, err)
	}
	return h, nil
}

// minSecret is the number of characters that a secret has at least.
const minSecret = 32

// turnAway tells a client why it is not served, and returns the reason.
func turnAway(st stream, err error) error {
	_ = wire.NewWriter(st).Write(wire.Frame{Type: wire.TypeError, Payload: wire.Encode(wire.FailureOf(err))})
	_ = st.Close()
	return err
}

// host runs a session in this process.
func host(o Options, st stream, in *wire.Reader, h wire.Hello) error {
	s := newSession(o, h)
	var err error
	if o.Cache != "" {
		if s.folder, err = claim(o.Cache, s, h.Resume); err != nil {
			return turnAway(st, err)
		}
		s.attending.Go(s.listen)
	}
	first := make(chan error, 1)
	go func() { first <- s.attend(st, in, h) }()
	select {
	case <-s.over:
	case <-o.Interrupt:
		s.finish(false)
	}
	err = s.close()
	if s.folder != nil {
		err = errors.Join(err, s.folder.release(s.goodbye))
	}
	close(s.done)
	s.attending.Wait()
	if ferr := <-first; errors.Is(ferr, errRefused) || errors.Is(ferr, wire.ErrProtocol) {
		err = errors.Join(err, ferr)
	}
	return err
}

// relay passes bytes on between a client and the process of its session, until
// either is gone.
func relay(st stream, r io.Reader, socket io.ReadWriteCloser, h wire.Hello) error {
	if err := wire.NewWriter(socket).Write(wire.Frame{Type: wire.TypeHello, Payload: wire.Encode(&h)}); err != nil {
		_ = socket.Close()
		return turnAway(st, &ops.TransportError{Kind: ops.KindUnavailable, Target: "helper", Msg: "the session is ending", Err: err})
	}
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(st, socket)
		_ = st.Close()
		done <- err
	}()
	_, err := io.Copy(socket, r)
	_ = socket.Close()
	for _, e := range []error{err, <-done} {
		if e != nil && !errors.Is(e, os.ErrClosed) { // not just that the other direction ended first
			return e
		}
	}
	return nil
}

// pipes are two pipes as one stream.
type pipes struct {
	in  io.ReadCloser
	out io.WriteCloser
}

func (p *pipes) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p *pipes) Write(b []byte) (int, error) { return p.out.Write(b) }

// Close closes both.
func (p *pipes) Close() error {
	err := p.in.Close()
	if oerr := p.out.Close(); err == nil && !errors.Is(oerr, os.ErrClosed) {
		err = oerr
	}
	return err
}

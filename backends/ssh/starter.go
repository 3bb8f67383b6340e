package ssh

import (
	"context"
	"errors"
	"io"
	"sync"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/tools/ops"
)

// starter starts programs whose streams stay open, each on a channel of its own;
// it is an install.Exec.
type starter struct{ connection *connection }

// Exec implements install.Exec. It does not wait for the server's answer to the
// request; writing does.
func (s starter) Exec(ctx context.Context, argv []string) (install.Process, error) {
	ch, err := s.connection.session(ctx)
	if err != nil {
		return nil, err
	}
	p := &process{channel: ch, answered: make(chan struct{}), drained: make(chan struct{}), givenUp: make(chan struct{})}
	p.stdout, p.output = io.Pipe()
	go p.request(commandLine(argv))
	go p.pump()
	return p, nil
}

// process is a program on a channel; it is an install.Process.
type process struct {
	*channel
	stdout *io.PipeReader
	output *io.PipeWriter
	stderr install.Tail

	answered chan struct{} // closed when the server has answered the request
	drained  chan struct{} // closed when all output has come
	refusal  error         // why the server did not start it; valid after answered

	givenUp chan struct{} // closed by Close
	once    sync.Once
}

// request asks the server to start the program.
func (p *process) request(line string) {
	defer close(p.answered)
	ok, err := p.SendRequest("exec", true, gossh.Marshal(struct{ Command string }{line}))
	if err != nil || ok {
		return // a link that ended is looked at elsewhere
	}
	p.refusal = transport(ops.KindNoShell, p.link.label, nil, "%s runs no commands for this account; file tools may still work", p.link.addr)
	p.abandon()
}

// pump carries the output to who reads, as fast as that goes. A pipe is between, so
// that giving up does not wait for the other side.
func (p *process) pump() {
	var output sync.WaitGroup
	output.Go(func() { drain(p.Stderr(), func(b []byte) { _, _ = p.stderr.Write(b) }) })
	drain(p.Channel, func(b []byte) { _, _ = p.output.Write(b) }) // nobody reads any more: the rest is let go
	output.Wait()
	close(p.drained)
	_ = p.output.CloseWithError(p.broken(nil)) // never fails
}

// broken is how a stream ended: err, unless the link ended in silence.
func (p *process) broken(err error) error {
	if p.link.deaf.Load() {
		return p.link.lostError(err)
	}
	return err
}

// Read implements install.Process.
func (p *process) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Write implements install.Process. What comes before the program is there is lost
// on some servers, and ends the channel on Dropbear; OpenSSH takes nothing before.
func (p *process) Write(b []byte) (int, error) {
	if err := p.started(); err != nil {
		return 0, err
	}
	n, err := p.channel.Write(b)
	if err != nil {
		err = p.broken(err)
	}
	return n, err
}

// CloseWrite implements install.Process.
func (p *process) CloseWrite() error {
	if err := p.started(); err != nil {
		return err
	}
	return p.channel.CloseWrite()
}

// started waits until the server has answered the request.
func (p *process) started() error {
	select {
	case <-p.answered:
		return nil
	case <-p.givenUp:
		return errGivenUp
	}
}

// Close implements install.Process.
func (p *process) Close() error {
	_ = p.stdout.CloseWithError(errGivenUp) // never fails
	p.once.Do(func() { close(p.givenUp) })
	p.abandon()
	return nil
}

// errGivenUp is what reading says after Close.
var errGivenUp = errors.New("the process was given up")

// Wait implements install.Process.
func (p *process) Wait(ctx context.Context) (install.Exit, error) {
	for _, step := range []chan struct{}{p.answered, p.drained, p.closed} {
		select {
		case <-step:
		case <-ctx.Done():
			return install.Exit{}, ended(ctx)
		}
	}
	code, signal, ok := p.exit()
	switch {
	case p.refusal != nil:
		return install.Exit{}, p.refusal
	case ok:
		return install.Exit{Code: code, Signal: signal, Stderr: p.stderr.String()}, nil
	case !p.link.aliveSoon():
		return install.Exit{}, p.link.lostError(nil)
	}
	return install.Exit{}, transport(ops.KindNoStatus, p.link.label, nil, "no exit status received from %s", p.link.addr)
}

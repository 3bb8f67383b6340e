package docker

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/tools/ops"
)

// starter starts programs in the container whose streams stay open; it is an
// install.Carrier.
type starter struct{ *runner }

// Exec implements install.Exec.
func (s starter) Exec(ctx context.Context, argv []string) (install.Process, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	// A further start comes mostly after a loss. In a silent one the other connections
	// to the daemon have died too, and no request must wait for them.
	if s.begun.Swap(true) {
		s.daemon.Renew()
	}
	s.notStarted.Store(false)
	c, st, err := s.start(ctx, argv)
	if err != nil {
		return nil, err
	}
	p := &attached{call: c, stream: st, program: argv[0], ended: make(chan struct{})}
	p.stdout, p.output = io.Pipe()
	go p.pump()
	return p, nil
}

// attached is a program in the container with an open connection to it; it is an
// install.Process. The end of the connection ends the program's input.
type attached struct {
	call    *call
	stream  *stream
	program string // its path

	stdout *io.PipeReader
	output *io.PipeWriter
	begin  beginning
	stderr install.Tail

	ended chan struct{} // closed when all output has come
	err   error         // how the output ended; valid after that
}

// pump carries the output to who reads, as fast as that goes. What a daemon says in the
// place of a program that it could not start is no output: reading fails with it, and
// Wait says more.
func (p *attached) pump() {
	begun, foreign := false, false
	p.err = demultiplex(p.stream, func(b []byte) {
		p.begin.add(b)
		if !begun {
			begun, foreign = true, daemons(p.begin.String())
		}
		if !foreign {
			_, _ = p.output.Write(b) // nobody reads any more: the rest is let go
		}
	}, func(b []byte) {
		_, _ = p.stderr.Write(b) // never fails
	})
	close(p.ended)
	var refused error
	if foreign {
		c := p.call
		c.notStarted.Store(true)
		refused = c.fault(ops.KindUnavailable, nil, "%s can't be started in container %s: %s", p.program, c.target.name, strings.TrimSpace(p.begin.String()))
	}
	_ = p.output.CloseWithError(refused) // never fails
	_ = p.stream.Close()                 // it is read to its end
}

// Read implements install.Process.
func (p *attached) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Write implements install.Process.
func (p *attached) Write(b []byte) (int, error) { return p.stream.Write(b) }

// CloseWrite implements install.Process.
func (p *attached) CloseWrite() error { return p.stream.CloseWrite() }

// Close implements install.Process.
func (p *attached) Close() error {
	_ = p.stdout.CloseWithError(errGivenUp) // never fails
	_ = p.stream.Close()                    // it may be closed
	return nil
}

// errGivenUp is what reading says after Close.
var errGivenUp = errors.New("the process was given up")

// Wait implements install.Process.
func (p *attached) Wait(ctx context.Context) (install.Exit, error) {
	select {
	case <-p.ended:
	case <-ctx.Done():
		return install.Exit{}, context.Cause(ctx)
	}
	c := p.call
	if p.err != nil {
		if gone := c.look(ctx, c.started); gone != nil {
			return install.Exit{}, gone
		}
		return install.Exit{}, c.fault(ops.KindUnavailable, p.err, "the connection to %s in container %s was lost: %v", p.program, c.target.name, p.err)
	}
	status, err := c.code(ctx, p.begin.String())
	if ops.KindOf(err) == ops.KindNoShell {
		err = c.fault(ops.KindNoShell, err, "%s can't be started in container %s: %s", p.program, c.target.name, p.begin.String())
	}
	return install.Exit{Code: status.Code, Signal: status.Signal, Stderr: p.stderr.String()}, err
}

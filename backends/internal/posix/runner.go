package posix

import (
	"context"
	"io"
)

// Runner starts processes on a target.
type Runner interface {
	// Run starts p, delivers its output and waits for its end. A process that
	// ran is a Status and no error, whatever its code. When ctx ends Run gives
	// the channel up and returns ctx's error within a second; the process may
	// then still run, and ending it is the caller's business. Other errors are
	// *ops.TransportError; a missing exit status is KindNoStatus. After a start
	// nothing is ever repeated.
	Run(ctx context.Context, p Process) (Status, error)
}

// Process is one program to run on a target.
type Process struct {
	// Argv is constant text of this package: it holds no value of a caller, no
	// single quote and no newline, so that any login shell can be given it.
	Argv []string
	// Stdin is sent and then closed, where the transport can close one
	// direction; a script therefore never depends on end of input alone but
	// knows the length of what it reads. Nil means empty.
	Stdin io.Reader
	// Stdout and Stderr receive output in order, from one goroutine each and
	// never after Run returned; they must not keep the slice. Nil discards.
	Stdout func([]byte)
	Stderr func([]byte)
}

// Status is how a process ended.
type Status struct {
	Code   int    // 128+n after signal n
	Signal string // without SIG; empty if none
}

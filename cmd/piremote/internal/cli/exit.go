package cli

import (
	"context"
	"errors"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/cmd/piremote/internal/wire"
	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools/ops"
)

// The exit codes. docs/errors.md explains them.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitConfig      = 3
	exitAuth        = 4
	exitUnreachable = 5
	exitDenied      = 6
	exitLimit       = 7
	exitProvider    = 8
	exitUnknown     = 9
	exitInterrupted = 130
)

// usageError is a fault of the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// codeError carries an exit code of its own; without text nothing is printed.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *codeError) Unwrap() error { return e.err }

// errInterrupted is the cause of a context that a signal ended.
var errInterrupted = errors.Join(errors.New("interrupted"), context.Canceled)

// exitCode is the one table from errors to exit codes.
func exitCode(err error) int {
	var coded *codeError
	var usage *usageError
	var address *wire.AddressError
	var cfg *config.Error
	var provider *llm.Error
	var transport *ops.TransportError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &address):
		return exitUsage
	case errors.As(err, &cfg):
		return exitConfig
	case errors.As(err, &provider):
		return exitProvider
	case errors.As(err, &transport):
		return transportCode(transport.Kind)
	}
	return exitError
}

func transportCode(kind ops.Kind) int {
	switch kind {
	case ops.KindAuth, ops.KindHostKey:
		return exitAuth
	case ops.KindUnavailable:
		return exitUnreachable
	case ops.KindOutcomeUnknown:
		return exitUnknown
	case ops.KindNoShell, ops.KindNoStatus, ops.KindProtocol:
	}
	return exitError
}

// runCode is the exit code of a run that ended by itself.
func runCode(s agent.Summary) int {
	switch {
	case s.Reason.Limited():
		return exitLimit
	case s.Reason == agent.StopAborted:
		return exitInterrupted
	case s.Reason == agent.StopError:
		if code := exitCode(s.Err); code != exitOK {
			return code
		}
		return exitError
	case s.Reason == agent.StopLength:
		return exitError
	case s.Denied > 0:
		return exitDenied
	}
	return exitOK
}

package install

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

// AbsentError reports that a bundle has no program for a kind of machine.
type AbsentError struct {
	OS, Arch string // as Go names them; empty if the bundle is empty
}

// Error says what to do.
func (e *AbsentError) Error() string {
	if e.OS == "" {
		return "this piremote was built without helpers: build it with make build"
	}
	return fmt.Sprintf("there is no helper for %s/%s", e.OS, e.Arch)
}

// CannotRunError reports that the target can be reached and that the helper does
// not run there, so that other means may be used in its place. It is the cause of
// a *ops.TransportError; a link that broke is a transport error without it.
type CannotRunError struct {
	// Reason is a sentence without its full stop.
	Reason string
	// Tried are the folders that can't hold the helper, each with its reason.
	Tried []string
	// Err is the cause; may be nil.
	Err error
}

// Error returns the reason and what was tried.
func (e *CannotRunError) Error() string {
	if len(e.Tried) == 0 {
		return e.Reason
	}
	return e.Reason + ": " + strings.Join(e.Tried, "; ")
}

// Unwrap returns the cause.
func (e *CannotRunError) Unwrap() error { return e.Err }

// transport makes the error that Start returns of a reason why the helper can't
// run; any other error passes as it is.
func (o Options) transport(err error) error {
	var cannot *CannotRunError
	var known *ops.TransportError
	switch {
	case err == nil || errors.As(err, &known) && !errors.As(err, &cannot):
		return err
	case errors.As(err, &cannot):
		return &ops.TransportError{
			Kind: ops.KindUnavailable, Target: o.Target, Err: cannot,
			Msg: fmt.Sprintf("the helper can't run on %s: %v", o.target(), cannot),
		}
	}
	return err
}

func (o Options) target() string {
	if o.Target == "" {
		return "the target"
	}
	return o.Target
}

// ended returns the error of a context that has ended, its cause kept.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}

// plain makes text of the other side harmless on a terminal, one line and bounded.
func plain(s string) string {
	const most = 500
	if len(s) > most {
		s = s[:most] + "…"
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.Join(strings.Fields(s), " ")
}

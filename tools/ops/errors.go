package ops

import (
	"errors"
	"fmt"
)

// Sentinels of file errors, wrapped in *fs.PathError beside those of io/fs.
var (
	ErrIsDir      = errors.New("is a directory")
	ErrNotDir     = errors.New("not a directory")
	ErrNotRegular = errors.New("not a regular file")
	ErrTooLarge   = errors.New("file too large")
	ErrNoSpace    = errors.New("no space left on device")
	ErrReadOnly   = errors.New("read-only file system")
	ErrOutside    = errors.New("outside the workspace")
	ErrChanged    = errors.New("changed on disk")
	ErrLoop       = errors.New("too many levels of symbolic links")
)

// Kind classifies a fault of the way to a target.
type Kind string

// The kinds of transport errors.
const (
	KindUnavailable    Kind = "unavailable"     // host, daemon, container or root folder can't be reached
	KindAuth           Kind = "auth"            // the target refused the credentials
	KindHostKey        Kind = "host key"        // the target's identity is unknown or has changed
	KindNoShell        Kind = "no shell"        // the target can't run commands
	KindNoStatus       Kind = "no status"       // a command ended without an exit status
	KindProtocol       Kind = "protocol"        // the other side broke the protocol
	KindOutcomeUnknown Kind = "outcome unknown" // the link broke while an effect was under way
)

// TransportError is a fault of the way to a target.
type TransportError struct {
	Kind   Kind
	Target string // what was being reached, such as ssh://host:22
	Msg    string // one clear sentence that names the thing and, where known, the mend
	Err    error  // the cause; may be nil
}

// Error returns the sentence, or kind, target and cause where there is none.
func (e *TransportError) Error() string {
	if e.Msg != "" {
		return e.Msg
	}
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Target, e.Kind, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Target, e.Kind)
}

// Unwrap returns the cause.
func (e *TransportError) Unwrap() error { return e.Err }

// WayFailed tells those who go through many files that not the file but the way to
// all of them failed.
func (e *TransportError) WayFailed() bool { return true }

// KindOf returns the kind of the transport error in err's chain, or "".
func KindOf(err error) Kind {
	var t *TransportError
	if errors.As(err, &t) {
		return t.Kind
	}
	return ""
}

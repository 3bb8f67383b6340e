package install

import (
	"context"
	"io"
)

// Exec starts programs on a target.
type Exec interface {
	// Exec starts a program with live standard streams. The arguments are
	// constant words without a single quote, a newline, a backslash or "!", so
	// that any login shell can be given them in single quotes. ctx bounds the
	// start alone: the process lives on when it ends. Errors are
	// *ops.TransportError, of KindNoShell if the account can't run commands;
	// then nothing was started.
	Exec(ctx context.Context, argv []string) (Process, error)
}

// Process is a program that runs on a target. One goroutine may read while
// another one writes; the other methods may be called at any time.
type Process interface {
	// Read reads the standard output. io.EOF is its end, however that came, and
	// Wait knows more; but what is known to have ended in a silence of the other
	// side has redial.ErrSilent in its chain, here and from Write.
	io.Reader
	// Write writes to the standard input. It may block as long as the program
	// does not read; at the latest it ends with the link.
	io.Writer
	// CloseWrite ends the standard input, where the transport can end one
	// direction.
	CloseWrite() error
	// Close gives the process up: its input ends, Read returns an error at
	// once. It does not wait for the target and may be called more than once.
	io.Closer
	// Wait returns how the process ended, once its output has, or ctx's error.
	// A link that broke is a *ops.TransportError.
	Wait(ctx context.Context) (Exit, error)
}

// Exit is how a process ended.
type Exit struct {
	Code   int    // 128+n after signal n
	Signal string // without SIG; empty if none
	Stderr string // the end of its standard error, some kilobytes at most
}

// Carrier is an Exec that can move files without the help of a program on the
// target. It serves targets without a shell.
type Carrier interface {
	Exec
	// Machine returns the system and the architecture of the target's kernel,
	// as Go names them.
	Machine(ctx context.Context) (goos, goarch string, err error)
	// Put makes the executable file dir/name, which nobody but root can change,
	// and the folder, absolute, if it is not there. A file that is there is
	// replaced. A refusal of the target is a *CannotRunError.
	Put(ctx context.Context, dir, name string, program []byte) error
	// Get returns the content of a regular file, by absolute path, and
	// fs.ErrNotExist if there is none or it has more than limit bytes.
	Get(ctx context.Context, file string, limit int64) ([]byte, error)
}

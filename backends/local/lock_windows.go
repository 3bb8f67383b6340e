package local

import (
	"context"
	"errors"
)

// open refuses: locks between processes are for Unix.
func (l *locks) open(context.Context) error {
	if l.path == "" {
		return nil
	}
	return unavailable(l.path, "There are no locks between processes on Windows: leave LockDir empty", nil)
}

// takeShared is never called: open has refused.
func (l *locks) takeShared(context.Context, string) (func(), error) {
	return nil, errors.ErrUnsupported
}

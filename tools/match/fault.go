package match

import (
	"context"
	"errors"
	"sync"
)

// faults ends a walk at the first error that says of the way to the files that it
// failed, by a method WayFailed: no other file can be read then either, and what
// was found is not all that there is.
type faults struct {
	stop context.CancelFunc

	mu  sync.Mutex
	err error
}

// watch returns a context that ends with the first fault.
func watch(ctx context.Context) (context.Context, *faults) {
	ctx, stop := context.WithCancel(ctx)
	return ctx, &faults{stop: stop}
}

// note looks at an error, which may be nil.
func (f *faults) note(err error) {
	var fault interface{ WayFailed() bool }
	if err == nil || !errors.As(err, &fault) || !fault.WayFailed() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
	f.stop()
}

// first returns the first fault, else err.
func (f *faults) first(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	return err
}

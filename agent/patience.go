package agent

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// telling is an event on its way through the listeners.
type telling struct {
	event     Event
	listeners []*Listener
	at        atomic.Int32 // the listener that has it

	// How often in a row a look found it with that listener.
	seen  int32
	looks int
}

// looks is how many looks make up a listener's patience.
const looks = 4

// StuckListenerError is the cause of a run that ended because a listener did not
// return (hazard EVNT-05).
type StuckListenerError struct {
	Listener string // the function's name
	Event    string // the event's type
	After    time.Duration
}

func (e *StuckListenerError) Error() string {
	return fmt.Sprintf("the listener %s has not returned from %s for %v, so the run was ended: let it return sooner, or read from a Feed", e.Listener, e.Event, e.After)
}

// watch ends the run by cancel when a listener is stuck, until it is stopped.
func (a *Agent) watch(cancel context.CancelCauseFunc) (stop func()) {
	patience := a.options.ListenerPatience
	switch {
	case patience < 0:
		return func() {}
	case patience == 0:
		patience = time.Minute
	}
	stopped := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(max(patience/looks, 1))
		defer ticker.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-ticker.C:
				if err := a.stuck(patience); err != nil {
					cancel(err)
				}
			}
		}
	}()
	return func() {
		close(stopped)
		<-done
	}
}

// stuck takes a look at who has an event.
func (a *Agent) stuck(patience time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range a.telling {
		at := d.at.Load()
		if at != d.seen {
			d.seen, d.looks = at, 0
		}
		if d.looks++; d.looks > looks {
			f := runtime.FuncForPC(reflect.ValueOf(*d.listeners[at]).Pointer())
			return &StuckListenerError{Listener: f.Name(), Event: fmt.Sprintf("%T", d.event), After: patience}
		}
	}
	return nil
}

// told takes an event that every listener has heard out of sight.
func (a *Agent) told(d *telling) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.telling, d); i >= 0 {
		a.telling = slices.Delete(a.telling, i, i+1)
	}
}

package call

import (
	"errors"
	"sync"

	"github.com/piremote/piremote/tools/tool"
)

// deliveriesAtOnce bounds overlapping deliveries. A tool that is faster than
// its listener has its updates coalesced: the newest waits, older ones go.
const deliveriesAtOnce = 4

// updates takes partial results from a tool at any time and from any goroutine,
// delivers them without making the tool wait, and stops when the tool has
// returned (hazard EVNT-02).
type updates struct {
	deliver func(tool.Result) error

	mu      sync.Mutex
	idle    sync.Cond
	closed  bool
	running int
	next    *tool.Result
	late    int
	errs    []error
}

func newUpdates(deliver func(tool.Result) error) *updates {
	u := &updates{deliver: deliver}
	u.idle.L = &u.mu
	return u
}

func (u *updates) accept(r tool.Result) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		u.late++
	case u.deliver == nil:
	case u.running >= deliveriesAtOnce:
		u.next = &r
	default:
		u.running++
		go u.run(r)
	}
}

func (u *updates) run(r tool.Result) {
	for {
		err := contain("listener of updates", func() error { return u.deliver(r) })
		u.mu.Lock()
		if err != nil {
			u.errs = append(u.errs, err)
		}
		if u.next == nil {
			u.running--
			u.idle.Broadcast()
			u.mu.Unlock()
			return
		}
		r, u.next = *u.next, nil
		u.mu.Unlock()
	}
}

// settle closes the gate and waits for accepted updates.
func (u *updates) settle() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for u.running > 0 {
		u.idle.Wait()
	}
	return errors.Join(u.errs...)
}

func (u *updates) lateCount() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.late
}

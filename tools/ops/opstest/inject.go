package opstest

import (
	"sync"

	"github.com/piremote/piremote/tools/ops"
)

// Fault makes one call fail.
type Fault struct {
	Op      Op
	Subject string // path, or script of a command; empty means any
	Skip    int    // calls that go well before
	Err     error
	// After lets the effect happen and then returns Err, as a link does that
	// breaks before the answer is there.
	After bool
}

// Inject returns the operations of m with faults. Each strikes once. Sets that
// At returns have none.
func Inject(m *Memory, faults ...Fault) ops.Set {
	var mu sync.Mutex
	left := append([]Fault(nil), faults...)
	strike := func(op Op, subject string) (Fault, bool) {
		mu.Lock()
		defer mu.Unlock()
		for i, f := range left {
			if f.Op != op || f.Subject != "" && f.Subject != subject {
				continue
			}
			if f.Skip > 0 {
				left[i].Skip--
				continue
			}
			left = append(left[:i:i], left[i+1:]...)
			return f, true
		}
		return Fault{}, false
	}
	return withOperations(m.Set(), intercepted(view{m, m.options.Root}, func(op Op, subject string, call func() error) error {
		f, ok := strike(op, subject)
		if !ok {
			return call()
		}
		if f.After {
			if err := call(); err != nil {
				return err
			}
		}
		return f.Err
	}))
}

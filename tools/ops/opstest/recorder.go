package opstest

import (
	"slices"
	"sync"

	"github.com/piremote/piremote/tools/ops"
)

// Call is one operation that was called.
type Call struct {
	Op      Op
	Subject string // path, or script of a command
	Err     error
}

// Recorder keeps the calls of a workspace, in the order in which they ended. It
// is safe for concurrent use.
type Recorder struct {
	mu    sync.Mutex
	calls []Call
}

// Record returns the operations of m and what keeps their calls. Calls through
// sets that At returns, and those of the mutation queue, are not kept.
func Record(m *Memory) (ops.Set, *Recorder) {
	r := &Recorder{}
	return withOperations(m.Set(), intercepted(view{m, m.options.Root}, func(op Op, subject string, call func() error) error {
		err := call()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, Call{op, subject, err})
		return err
	})), r
}

// Calls returns the calls so far.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

package ops

import (
	"context"
	"path"
	"sync"
)

// Mutations orders the effects on each file of one workspace. All sessions of
// the workspace share it, and custom tools that change files use it too.
//
// Two paths are the same file when they resolve to the same canonical path at
// the target. Changes of one file run one at a time in the order in which their
// tickets were taken; reads of it wait for earlier changes and hold up later
// ones; different files never wait for each other. When nothing is under way
// nothing is remembered. (Hazards MUTQ-01, MUTQ-06.)
//
// A path is resolved only to be compared with another: a change that meets no
// other costs no way to the target. It may be resolved by a later change while
// its own is under way, so an effect must not redirect the links that its path
// leads through. A path that can't be resolved might be any file.
//
// An effect may change further files with the context that it was given. It is
// not held up by its own place, so one that names its own file again runs at once.
type Mutations struct {
	resolve func(ctx context.Context, path string) (string, error)

	mu   sync.Mutex
	live []*Ticket // in the order of being taken
}

// NewMutations returns a queue whose keys come from resolve, usually the
// workspace's Canonicalizer. A nil resolve compares cleaned paths.
func NewMutations(resolve func(ctx context.Context, path string) (string, error)) *Mutations {
	if resolve == nil {
		resolve = func(_ context.Context, p string) (string, error) { return path.Clean(p), nil }
	}
	return &Mutations{resolve: resolve}
}

// Mutate runs fn alone among the changes of path. It takes its place at once.
func (m *Mutations) Mutate(ctx context.Context, path string, fn func(ctx context.Context) error) error {
	return m.Ticket(path, true).Do(ctx, fn)
}

// Ticket takes a place at once and never blocks. Exactly one of Do and Release
// must follow.
func (m *Mutations) Ticket(path string, writes bool) *Ticket {
	t := &Ticket{m: m, path: path, writes: writes, placed: make(chan struct{}), done: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.live); n > 0 {
		t.prev = m.live[n-1].placed
	}
	m.live = append(m.live, t)
	return t
}

// Idle reports whether nothing is queued or running.
func (m *Mutations) Idle() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.live) == 0
}

// Ticket is a place in the order of a workspace's effects.
type Ticket struct {
	m      *Mutations
	path   string
	writes bool
	prev   <-chan struct{} // the ticket before has its place

	key     string // guarded by m.mu, with keyed
	keyed   bool
	placed  chan struct{} // closed when it is known what it waits for
	done    chan struct{} // closed when the effect has ended
	release sync.Once
}

// Do waits for the ticket's turn, runs fn and gives the place up when fn has
// returned, also when it panics. If ctx ends while it waits, fn doesn't run and
// ctx's error is returned. So it is with an error of resolving the path, where
// earlier tickets ask for that.
func (t *Ticket) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	defer t.Release()
	// Whoever waits asks for the key meanwhile, and all of them at a time.
	if len(t.before(ctx)) > 0 {
		if err := t.resolveKey(ctx); err != nil {
			return err
		}
	}
	if err := wait(ctx, t.prev); err != nil {
		return err
	}
	earlier, err := t.place(ctx)
	if err != nil {
		return err
	}
	for _, e := range earlier {
		if err := wait(ctx, e.done); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return fn(context.WithValue(ctx, t, true))
}

// holds reports whether ctx is that of the ticket's own effect.
func (t *Ticket) holds(ctx context.Context) bool { return ctx.Value(t) != nil }

// Release gives the place up. It may be called more than once.
func (t *Ticket) Release() {
	t.release.Do(func() {
		t.m.mu.Lock()
		for i, l := range t.m.live {
			if l == t {
				t.m.live = append(t.m.live[:i:i], t.m.live[i+1:]...)
				break
			}
		}
		t.m.mu.Unlock()
		t.settle()
		close(t.done)
	})
}

func (t *Ticket) settle() {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	select {
	case <-t.placed:
	default:
		close(t.placed)
	}
}

// place returns the earlier tickets that the ticket must wait for. Where there
// are none that could conflict it needs no key and costs nothing.
func (t *Ticket) place(ctx context.Context) ([]*Ticket, error) {
	defer t.settle()
	before := t.before(ctx)
	if len(before) == 0 {
		return nil, nil
	}
	for _, o := range append(before, t) {
		if err := o.resolveKey(ctx); err != nil && o == t {
			return nil, err
		}
	}
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	var conflicts []*Ticket
	for _, o := range before {
		// One that can't be resolved might be any file: wait for it.
		if !o.keyed || o.key == t.key {
			conflicts = append(conflicts, o)
		}
	}
	return conflicts, nil
}

// before lists the earlier live tickets that could conflict.
func (t *Ticket) before(ctx context.Context) []*Ticket {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	var before []*Ticket
	for _, o := range t.m.live {
		if o == t {
			break
		}
		if (o.writes || t.writes) && !o.holds(ctx) {
			before = append(before, o)
		}
	}
	return before
}

func (t *Ticket) resolveKey(ctx context.Context) error {
	t.m.mu.Lock()
	keyed := t.keyed
	t.m.mu.Unlock()
	if keyed {
		return nil
	}
	key, err := t.m.resolve(ctx, t.path)
	if err != nil {
		return err
	}
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.key, t.keyed = key, true
	return nil
}

func wait(ctx context.Context, ch <-chan struct{}) error {
	if ch == nil {
		return nil
	}
	select {
	case <-ch:
		return nil
	default:
	}
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Hooks are the functions that a program hangs into a session, at the points of
// points.go. The zero value has none. Its methods are safe for concurrent use.
type Hooks struct {
	// Report is told of a hook that failed or panicked where that changes nothing
	// else; nil drops it. It may be called from several goroutines.
	Report func(point string, err error)

	mu    sync.Mutex
	hooks map[string][]*hook
}

type hook struct{ call any }

// Observed is a point at which hooks are told of something. They are isolated: one
// that fails is reported and steers nothing.
type Observed[T any] struct{ name string }

// Changing is a point at which hooks may change or stop what is about to happen,
// by what they write into the value. They run one after the other, each after the
// one before it has returned, and see what earlier ones wrote. One that fails is
// reported and skipped, with what it wrote; at a point that fails closed it stops
// what was about to happen.
type Changing[T any] struct {
	name   string
	closed bool // it fails closed
}

// On hangs fn into a point and returns what takes it away.
func (p Observed[T]) On(h *Hooks, fn func(ctx context.Context, value T) error) (remove func()) {
	return h.add(p.name, fn)
}

// On hangs fn into a point and returns what takes it away.
func (p Changing[T]) On(h *Hooks, fn func(ctx context.Context, value *T) error) (remove func()) {
	return h.add(p.name, fn)
}

// tell calls the hooks of a point, in order.
func (p Observed[T]) tell(ctx context.Context, h *Hooks, value T) {
	for _, k := range h.at(p.name) {
		if fn, ok := k.call.(func(context.Context, T) error); ok {
			if err := contain(p.name, func() error { return fn(ctx, value) }); err != nil {
				h.report(p.name, err)
			}
		}
	}
}

// ask calls the hooks of a point, in order, and returns what they made of value.
// The error is that of a hook at a point that fails closed.
func (p Changing[T]) ask(ctx context.Context, h *Hooks, value T) (T, error) {
	for _, k := range h.at(p.name) {
		fn, ok := k.call.(func(context.Context, *T) error)
		if !ok {
			continue
		}
		changed := value
		err := contain(p.name, func() error { return fn(ctx, &changed) })
		switch {
		case err == nil:
			value = changed
		case p.closed:
			return value, err
		default:
			h.report(p.name, err)
		}
	}
	return value, nil
}

func (h *Hooks) add(name string, fn any) (remove func()) {
	k := &hook{fn}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hooks == nil {
		h.hooks = map[string][]*hook{}
	}
	h.hooks[name] = append(slices.Clone(h.hooks[name]), k)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.hooks[name] = slices.DeleteFunc(slices.Clone(h.hooks[name]), func(o *hook) bool { return o == k })
	}
}

func (h *Hooks) at(name string) []*hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hooks[name]
}

func (h *Hooks) report(name string, err error) {
	if h.Report != nil {
		_ = contain("the report of "+name, func() error { h.Report(name, err); return nil })
	}
}

// contain turns a panic into an error that names what panicked.
func contain(what string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v", what, p)
		}
	}()
	return fn()
}

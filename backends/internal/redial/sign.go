package redial

import (
	"context"
	"errors"
	"time"
)

// ErrSilent is in the chain of the error of what ended because the other side gave no
// sign of life. Who meets it should not wait long for another connection: it would
// most likely meet the same silence.
var ErrSilent = errors.New("it stopped answering")

type signKey struct{}

// OnSign returns a context for Get. f is called when the other side of a connection in
// the making has given a first sign of life, which is long before the connection is of
// use. f must not block; it may be called more than once, from any goroutine.
func OnSign(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, signKey{}, f)
}

// Sign tells who waits that the other side has given a sign of life. It is called by
// what makes a connection, with the context that it was given.
func Sign(ctx context.Context) {
	if f, ok := ctx.Value(signKey{}).(func()); ok {
		f()
	}
}

// Within calls get with a context that ends, with the cause ErrSilent, unless there is
// a sign of life within limit; from then on it ends with ctx.
func Within[C any](ctx context.Context, limit time.Duration, get func(context.Context) (C, error)) (C, error) {
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(limit, func() { cancel(ErrSilent) })
	defer timer.Stop()
	return get(OnSign(bounded, func() {
		timer.Stop()
		Sign(ctx)
	}))
}

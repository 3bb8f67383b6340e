package redial

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

var (
	errClosed = errors.New("closed")
	errAway   = &ops.TransportError{Kind: ops.KindUnavailable, Msg: "away"}
)

// line is a connection.
type line struct{ dead, discarded bool }

// target makes lines, each after a second, unless it is away.
type target struct {
	mu    sync.Mutex
	dials int
	made  []*line
	err   error
}

func (x *target) keeper() *Keeper[*line] {
	return New(Options[*line]{
		Dial: func(ctx context.Context, _ bool) (*line, error) {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			x.mu.Lock()
			defer x.mu.Unlock()
			x.dials++
			if x.err != nil {
				return nil, x.err
			}
			l := &line{} // also when nobody waits any more
			x.made = append(x.made, l)
			return l, nil
		},
		Alive:   func(l *line) bool { return !l.dead },
		Made:    func(*line) {},
		Discard: func(l *line) { l.discarded = true },
		Closed:  func() error { return errClosed },
	})
}

// get asks with many callers at once and returns how many got an error.
func get(t *testing.T, k *Keeper[*line], callers int) (failed int) {
	t.Helper()
	errs := make(chan error, callers)
	for range callers {
		go func() { _, err := k.Get(t.Context()); errs <- err }()
	}
	for range callers {
		if <-errs != nil {
			failed++
		}
	}
	return failed
}

func TestSSHC07CallsShareOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &target{}
		k := x.keeper()
		begin := time.Now()
		if n := get(t, k, 20); n != 0 || x.dials != 1 || time.Since(begin) != time.Second {
			t.Errorf("%d failed, %d dials, %v", n, x.dials, time.Since(begin))
		}
		if n := get(t, k, 1); n != 0 || x.dials != 1 {
			t.Errorf("one that is alive: %d failed, %d dials", n, x.dials)
		}
		// A lost one has several tries, which all callers share.
		x.made[0].dead, x.err = true, errAway
		x.dials, begin = 0, time.Now()
		if n := get(t, k, 20); n != 20 || x.dials != Tries || time.Since(begin) != 3*time.Second+5*firstPause {
			t.Errorf("%d failed, %d dials, %v", n, x.dials, time.Since(begin))
		}
		x.dials, x.err = 0, &ops.TransportError{Kind: ops.KindUnavailable, Err: context.DeadlineExceeded}
		if n := get(t, k, 20); n != 20 || x.dials != 1 {
			t.Errorf("a silent one: %d failed, %d dials", n, x.dials)
		}
		x.dials, x.err = 0, errors.New("refused")
		if n := get(t, k, 1); n != 1 || x.dials != 1 {
			t.Errorf("what no try mends: %d failed, %d dials", n, x.dials)
		}
	})
}

func TestAnAttemptEndsWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &target{}
		k := x.keeper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := k.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		synctest.Wait()
		if len(x.made) != 1 || !x.made[0].discarded {
			t.Errorf("what was made for nobody is kept: %+v", x.made)
		}
		if l, err := k.Get(t.Context()); err != nil || l.discarded {
			t.Errorf("the next caller got the end of that: %v", err)
		}
	})
}

func TestNothingIsHadAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &target{}
		k := x.keeper()
		got := make(chan error, 1)
		go func() { _, err := k.Get(t.Context()); got <- err }()
		synctest.Wait()
		_, had, ending := k.Close()
		if had || ending == nil {
			t.Fatalf("%v, %v", had, ending)
		}
		<-ending
		if err := <-got; !errors.Is(err, errClosed) || !x.made[0].discarded {
			t.Errorf("%v, %+v", err, x.made[0])
		}
		if _, err := k.Get(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// Who waits with a patience ends with it, unless there is a sign of life, of which all
// who share an attempt hear; and nested keepers pass it on.
func TestASignOfLifeIsWorthWaiting(t *testing.T) {
	for _, signs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const sign, whole = time.Second, time.Minute
			inner := New(Options[*line]{
				Dial: func(ctx context.Context, _ bool) (*line, error) {
					select {
					case <-time.After(sign):
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
					if signs {
						Sign(ctx)
					}
					select {
					case <-time.After(whole):
						return &line{}, nil
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				},
				Alive: func(*line) bool { return true }, Made: func(*line) {}, Discard: func(*line) {},
				Closed: func() error { return errClosed },
			})
			outer := New(Options[*line]{
				Dial:  func(ctx context.Context, _ bool) (*line, error) { return inner.Get(ctx) },
				Alive: func(*line) bool { return true }, Made: func(*line) {}, Discard: func(*line) {},
				Closed: func() error { return errClosed },
			})
			errs := make(chan error, 2)
			begin := time.Now()
			for range cap(errs) {
				go func() {
					_, err := Within(t.Context(), 2*sign, outer.Get)
					errs <- err
				}()
			}
			want, after := error(nil), sign+whole
			if !signs {
				want, after = ErrSilent, 2*sign
			}
			for range cap(errs) {
				if err := <-errs; !errors.Is(err, want) || time.Since(begin) != after {
					t.Errorf("signs %v: %v after %v", signs, err, time.Since(begin))
				}
			}
			synctest.Wait()
		})
	}
}

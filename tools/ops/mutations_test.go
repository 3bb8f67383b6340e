package ops_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

func doNothing(context.Context) error { return nil }

func TestMUTQ01ChangesOfOneFileRunInTicketOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ops.NewMutations(nil)
		var order []int
		var group sync.WaitGroup
		var tickets []*ops.Ticket
		for range 5 {
			tickets = append(tickets, m.Ticket("/f", true))
		}
		for i := len(tickets) - 1; i >= 0; i-- { // the last one is the first to ask
			group.Go(func() {
				if err := tickets[i].Do(t.Context(), func(context.Context) error {
					time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
					order = append(order, i)
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		group.Wait()
		for i, got := range order {
			if got != i {
				t.Fatalf("order %v", order)
			}
		}
		if len(order) != 5 || !m.Idle() {
			t.Errorf("order %v, idle %v", order, m.Idle())
		}
	})
}

func TestMUTQ01AliasesAreOneFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ops.NewMutations(func(_ context.Context, p string) (string, error) { return path.Base(p), nil })
		first := make(chan struct{})
		go func() { _ = m.Mutate(t.Context(), "/a/f", func(context.Context) error { <-first; return nil }) }() // ends below
		synctest.Wait()
		second := make(chan error, 1)
		go func() { second <- m.Mutate(t.Context(), "/b/f", doNothing) }()
		synctest.Wait()
		if len(second) > 0 {
			t.Error("two names of one file ran at the same time")
		}
		close(first)
		if err := <-second; err != nil {
			t.Error(err)
		}
	})
}

func TestReadsRunTogetherAndWaitForEarlierChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ops.NewMutations(nil)
		release := make(chan struct{})
		hold := func(context.Context) error { <-release; return nil }
		running, done := 0, make(chan error, 4)
		start := func(ticket *ops.Ticket, fn func(context.Context) error) {
			go func() { done <- ticket.Do(t.Context(), func(ctx context.Context) error { running++; return fn(ctx) }) }()
			synctest.Wait()
		}
		start(m.Ticket("/f", false), hold)
		start(m.Ticket("/f", false), hold)
		if running != 2 {
			t.Errorf("%d reads run, want 2", running)
		}
		start(m.Ticket("/f", true), doNothing)
		if running != 2 {
			t.Error("a change overtook a read before it")
		}
		start(m.Ticket("/other", true), doNothing)
		if running != 3 {
			t.Error("another file waits")
		}
		close(release)
		for range 4 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestMUTQ06NothingStaysAfterCancelReleaseAndPanic(t *testing.T) {
	m := ops.NewMutations(nil)
	blocker := m.Ticket("/f", true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := false
	if err := m.Mutate(ctx, "/f", func(context.Context) error { ran = true; return nil }); !errors.Is(err, context.Canceled) || ran {
		t.Errorf("%v, ran %v", err, ran)
	}
	blocker.Release()
	blocker.Release() // more than once is fine
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was lost")
			}
		}()
		_ = m.Mutate(t.Context(), "/f", func(context.Context) error { panic("x") }) // it does not return
	}()
	if err := m.Mutate(t.Context(), "/f", doNothing); err != nil {
		t.Error(err)
	}
	if !m.Idle() {
		t.Error("something stays in the queue")
	}
}

func TestAnUnresolvablePathIsItsErrorAndHoldsNobodyUp(t *testing.T) {
	m := ops.NewMutations(notBad)
	end := running(t, m, "/other")
	defer end()
	bad := m.Ticket("/bad", true)
	good := make(chan error, 1)
	go func() { good <- m.Mutate(t.Context(), "/good", doNothing) }()
	if err := bad.Do(t.Context(), doNothing); !errors.Is(err, errBad) {
		t.Errorf("%v", err)
	}
	if err := <-good; err != nil {
		t.Error(err)
	}
}

var errBad = errors.New("no such host")

// notBad resolves every path but /bad.
func notBad(_ context.Context, p string) (string, error) {
	if p == "/bad" {
		return "", errBad
	}
	return p, nil
}

// running starts a change that goes on until end is called.
func running(t *testing.T, m *ops.Mutations, p string) (end func()) {
	t.Helper()
	started, stop, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- m.Mutate(t.Context(), p, func(context.Context) error {
			close(started)
			<-stop
			return nil
		})
	}()
	<-started
	return func() {
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestMUTQ01APathThatCantBeResolvedMightBeAnyFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ops.NewMutations(notBad)
		end := running(t, m, "/bad") // nothing else is under way, so nobody asked
		good := make(chan error, 1)
		go func() { good <- m.Mutate(t.Context(), "/good", doNothing) }()
		synctest.Wait()
		if len(good) > 0 {
			t.Error("a change did not wait for one that may be of the same file")
		}
		end()
		if err := <-good; err != nil {
			t.Error(err)
		}
	})
}

func TestPathsAreResolvedOnlyToBeCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[string]int{}
		var mu sync.Mutex
		m := ops.NewMutations(func(_ context.Context, p string) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[p]++
			return p, nil
		})
		count := func(want map[string]int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if !maps.Equal(asked, want) {
				t.Errorf("asked for %v, want %v", asked, want)
			}
		}
		for _, p := range []string{"/a", "/b", "/a"} {
			if err := m.Mutate(t.Context(), p, doNothing); err != nil {
				t.Error(err)
			}
		}
		count(map[string]int{})
		first := running(t, m, "/a")
		count(map[string]int{})
		second := running(t, m, "/b")
		count(map[string]int{"/a": 1, "/b": 1})
		third := running(t, m, "/c")
		count(map[string]int{"/a": 1, "/b": 1, "/c": 1})
		for _, end := range []func(){first, second, third} {
			end()
		}
		if err := m.Mutate(t.Context(), "/d", doNothing); err != nil {
			t.Error(err)
		}
		count(map[string]int{"/a": 1, "/b": 1, "/c": 1})
	})
}

// Changes that wait for each other's keys ask for their own meanwhile.
func TestPathsAreResolvedAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ops.NewMutations(func(_ context.Context, p string) (string, error) {
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
			return p, nil
		})
		end := running(t, m, "/first")
		start := time.Now()
		var group sync.WaitGroup
		for i := range 50 {
			group.Go(func() {
				if err := m.Mutate(t.Context(), fmt.Sprint("/", i), doNothing); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if took := time.Since(start); took > 25*time.Second {
			t.Errorf("50 changes waited %v for paths that take a second each", took)
		}
		end()
	})
}

func TestMUTQ06AnEffectMayChangeItsOwnFileAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ops.NewMutations(func(ctx context.Context, p string) (string, error) { return notBad(ctx, path.Clean(p)) })
		for _, p := range []string{"/f", "/bad"} {
			ran := 0
			err := m.Mutate(t.Context(), p, func(ctx context.Context) error {
				return m.Mutate(ctx, "/x/.."+p, func(ctx context.Context) error {
					ran++
					return m.Mutate(ctx, "/f", func(context.Context) error { ran++; return nil })
				})
			})
			if err != nil || ran != 2 || !m.Idle() {
				t.Errorf("%s: %v, ran %d, idle %v", p, err, ran, m.Idle())
			}
		}
		// With another's context it waits as anybody does.
		end := running(t, m, "/f")
		other := make(chan error, 1)
		go func() { other <- m.Mutate(t.Context(), "/f", doNothing) }()
		synctest.Wait()
		if len(other) > 0 {
			t.Error("a change of the same file did not wait")
		}
		end()
		if err := <-other; err != nil {
			t.Error(err)
		}
	})
}

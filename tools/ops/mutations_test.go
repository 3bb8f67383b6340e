package ops_test

import (
	"context"
	"errors"
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
	broken := errors.New("no such host")
	m := ops.NewMutations(func(_ context.Context, p string) (string, error) {
		if p == "/bad" {
			return "", broken
		}
		return p, nil
	})
	bad := m.Ticket("/bad", true)
	good := make(chan error, 1)
	go func() { good <- m.Mutate(t.Context(), "/good", doNothing) }()
	if err := bad.Do(t.Context(), doNothing); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if err := <-good; err != nil {
		t.Error(err)
	}
}

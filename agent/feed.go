package agent

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/piremote/piremote/agent/llm"
)

// Feed is a subscription that the agent never waits for: a screen or a client
// that is slow, or has stopped reading, holds nothing up (hazard EVNT-05). Events
// wait in order until Next takes them, and none is lost. What only tells of
// progress is merged while it waits: pieces of one block of an answer become one
// piece, and of a running call the newest partial result stays, at the place of
// the first. So a Feed that nobody reads grows by the starts, ends and results of
// a run, not by its progress. It is safe for concurrent use.
type Feed struct {
	unsubscribe func()

	mu      sync.Mutex
	waiting []*fed
	calls   map[string]*fed // the waiting update of each call
	wake    chan struct{}   // closed when an event has come, or the end
	closed  bool
}

// fed is an event that waits, and the pieces that were merged into it.
type fed struct {
	event  Event
	deltas []string
}

// Feed subscribes. Close ends it.
func (a *Agent) Feed() *Feed {
	f := &Feed{calls: map[string]*fed{}, wake: make(chan struct{})}
	f.unsubscribe = a.Subscribe(func(_ context.Context, e Event) error {
		f.add(e)
		return nil
	})
	return f
}

func (f *Feed) add(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.merge(e) {
		return
	}
	item := &fed{event: e}
	if u, ok := e.(ToolExecutionUpdate); ok {
		f.calls[u.ToolCallID] = item
	}
	f.waiting = append(f.waiting, item)
	if len(f.waiting) == 1 {
		close(f.wake)
	}
}

// merge puts e into an event that waits, if both tell of one progress.
func (f *Feed) merge(e Event) bool {
	switch e := e.(type) {
	case ToolExecutionUpdate:
		if item := f.calls[e.ToolCallID]; item != nil {
			item.event = e
			return true
		}
	case MessageUpdate:
		if len(f.waiting) == 0 || !piece(e.Stream.Kind) {
			return false
		}
		last := f.waiting[len(f.waiting)-1]
		before, ok := last.event.(MessageUpdate)
		if !ok || before.Stream.Kind != e.Stream.Kind || before.Stream.ContentIndex != e.Stream.ContentIndex {
			return false
		}
		if last.deltas == nil {
			last.deltas = []string{before.Stream.Delta}
		}
		last.deltas = append(last.deltas, e.Stream.Delta)
		last.event = e
		return true
	case AgentStart, AgentEnd, TurnStart, TurnEnd, MessageStart, MessageEnd, ToolExecutionStart, ToolExecutionEnd:
	}
	return false
}

// piece reports whether an event carries a piece that may be joined to the next.
func piece(k llm.StreamKind) bool {
	return k == llm.StreamTextDelta || k == llm.StreamThinkingDelta || k == llm.StreamToolCallDelta
}

// Next returns the next event, waiting for one if need be. After Close it
// returns what still waits and then io.EOF; when ctx ends, its cause.
func (f *Feed) Next(ctx context.Context) (Event, error) {
	for {
		f.mu.Lock()
		if e := f.take(); e != nil {
			f.mu.Unlock()
			return e, nil
		}
		closed, wake := f.closed, f.wake
		f.mu.Unlock()
		if closed {
			return nil, io.EOF
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (f *Feed) take() Event {
	if len(f.waiting) == 0 {
		return nil
	}
	item := f.waiting[0]
	f.waiting[0] = nil
	f.waiting = f.waiting[1:]
	if len(f.waiting) == 0 && !f.closed {
		f.wake = make(chan struct{})
	}
	switch e := item.event.(type) {
	case ToolExecutionUpdate:
		delete(f.calls, e.ToolCallID)
	case MessageUpdate:
		if item.deltas != nil {
			e.Stream.Delta = strings.Join(item.deltas, "")
			return e
		}
	case AgentStart, AgentEnd, TurnStart, TurnEnd, MessageStart, MessageEnd, ToolExecutionStart, ToolExecutionEnd:
	}
	return item.event
}

// Close ends the subscription. It waits for nothing and may be called again.
func (f *Feed) Close() {
	f.unsubscribe()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		if len(f.waiting) == 0 {
			close(f.wake)
		}
	}
}

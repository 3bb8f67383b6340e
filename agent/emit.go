package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/piremote/piremote/agent/llm"
)

// reduce makes the state show what e tells. The caller holds the lock.
func (a *Agent) reduce(e Event) {
	switch e := e.(type) {
	case MessageStart:
		if m, ok := e.Message.(*llm.Assistant); ok {
			a.streaming = m
		}
	case MessageUpdate:
		a.streaming = e.Message
	case MessageEnd:
		if _, ok := e.Message.(*llm.Assistant); ok {
			a.streaming = nil
		}
		a.messages = append(a.messages, e.Message)
	case ToolExecutionStart:
		a.pending = append(a.pending, e.ToolCallID)
	case ToolExecutionEnd:
		if i := slices.Index(a.pending, e.ToolCallID); i >= 0 {
			a.pending = slices.Delete(a.pending, i, i+1)
		}
	case AgentStart, AgentEnd, TurnStart, TurnEnd, ToolExecutionUpdate:
	}
}

// emit reduces the state, then tells each listener in turn. The first that
// fails or panics keeps the event from later ones.
func (a *Agent) emit(ctx context.Context, e Event) error {
	a.mu.Lock()
	a.reduce(e)
	listeners := a.listeners
	if len(listeners) == 0 {
		a.mu.Unlock()
		return nil
	}
	d := &telling{event: e, listeners: listeners}
	a.telling = append(a.telling, d)
	a.mu.Unlock()
	defer a.told(d)
	for i, l := range listeners {
		d.at.Store(int32(i))
		if err := tell(ctx, *l, e); err != nil {
			return fmt.Errorf("listener of %T: %w", e, err)
		}
	}
	return nil
}

func tell(ctx context.Context, l Listener, e Event) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return l(ctx, e)
}

package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/piremote/piremote/agent/llm"
)

// reduce makes the state show what e tells.
func (a *Agent) reduce(e Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
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
	a.reduce(e)
	a.mu.Lock()
	listeners := a.listeners
	a.mu.Unlock()
	for _, l := range listeners {
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

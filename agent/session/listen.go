package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// listen is the session's one listener of the agent: hooks first, then what the
// log keeps, then subscribers.
func (s *Session) listen(ctx context.Context, e agent.Event) error {
	switch e := e.(type) {
	case agent.AgentStart:
		OnAgentStart.tell(ctx, s.hooks, e)
	case agent.AgentEnd:
		OnAgentEnd.tell(ctx, s.hooks, e)
		s.emit(AgentEnd{e, s.plan(e.Messages)})
		return nil
	case agent.TurnStart:
		OnTurnStart.tell(ctx, s.hooks, e)
	case agent.TurnEnd:
		OnTurnEnd.tell(ctx, s.hooks, e)
	case agent.MessageStart:
		if _, ok := e.Message.(*llm.User); ok {
			s.tellQueues()
		}
		OnMessageStart.tell(ctx, s.hooks, e)
	case agent.MessageUpdate:
		OnMessageUpdate.tell(ctx, s.hooks, e)
	case agent.MessageEnd:
		if err := s.messageEnd(ctx, e.Message); err != nil {
			return err
		}
	case agent.ToolExecutionStart:
		OnToolExecutionStart.tell(ctx, s.hooks, e)
	case agent.ToolExecutionUpdate:
		OnToolExecutionUpdate.tell(ctx, s.hooks, e)
	case agent.ToolExecutionEnd:
		OnToolExecutionEnd.tell(ctx, s.hooks, e)
	}
	s.emit(Core{e})
	return nil
}

// messageEnd lets hooks replace a message, keeps it, and ends the attempts that
// it was the success of.
func (s *Session) messageEnd(ctx context.Context, m llm.Message) error {
	changed, err := OnMessageEnd.ask(ctx, s.hooks, MessageEnd{m})
	if err == nil && changed.Message != m {
		err = overwrite(m, changed.Message)
	}
	if err != nil {
		s.hooks.report(OnMessageEnd.name, err)
	}
	if err := s.put(store.Message{Message: m}); err != nil {
		return err
	}
	if a, ok := m.(*llm.Assistant); ok && a.StopReason != llm.StopError && a.StopReason != llm.StopAborted {
		s.retried(true, "")
	}
	return nil
}

// overwrite puts the content of a message in the place of another of its kind,
// which keeps its identity.
func overwrite(m, by llm.Message) error {
	switch m := m.(type) {
	case *llm.User:
		if by, ok := by.(*llm.User); ok {
			*m = *by
			return nil
		}
	case *llm.Assistant:
		if by, ok := by.(*llm.Assistant); ok {
			*m = *by
			return nil
		}
	case *llm.ToolResult:
		if by, ok := by.(*llm.ToolResult); ok && by.ToolCallID == m.ToolCallID {
			*m = *by
			return nil
		}
	}
	return fmt.Errorf("a hook put a %T in the place of a %T: only a message of the same kind may take its place", by, m)
}

// toolOutcome keeps how a call ended as soon as that is final, before its message
// is due (hazard LOOP-03), and what it has seen of files.
func (s *Session) toolOutcome(_ context.Context, result *llm.ToolResult) error {
	if err := s.keepFiles(); err != nil {
		return err
	}
	e, err := store.Outcome(result)
	if err != nil {
		return err
	}
	return s.put(e)
}

// context lets hooks change the messages of a request.
func (s *Session) context(ctx context.Context, messages []llm.Message) ([]llm.Message, error) {
	c, err := OnContext.ask(ctx, s.hooks, Context{messages})
	return c.Messages, err
}

// toolCall lets hooks change or block a call.
func (s *Session) toolCall(ctx context.Context, req call.Request) (json.RawMessage, error) {
	c, err := OnToolCall.ask(ctx, s.hooks, ToolCall{ID: req.ID, Name: req.Name, Args: req.Args})
	switch {
	case err != nil:
		return nil, err
	case c.Block:
		return nil, &call.DeniedError{Tool: req.Name, Reason: c.Reason}
	case string(c.Args) == string(req.Args):
		return nil, nil
	}
	return c.Args, nil
}

// toolResult lets hooks change what the model sees of a call.
func (s *Session) toolResult(ctx context.Context, req call.Request, result tool.Result, isError bool) (*call.Patch, error) {
	if len(s.hooks.at(OnToolResult.name)) == 0 {
		return nil, nil //nolint:nilnil // nothing is patched
	}
	r, err := OnToolResult.ask(ctx, s.hooks, ToolResult{
		ID: req.ID, Name: req.Name, Args: req.Args, Content: result.Content, Details: result.Details, Usage: result.Usage, IsError: isError,
	})
	return &call.Patch{Content: &r.Content, Details: &r.Details, Usage: r.Usage, IsError: &r.IsError}, err
}

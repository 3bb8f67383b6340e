package agent

import (
	"encoding/json"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// Event is one of the ten things that the loop tells.
//
//sumtype:decl
type Event interface{ isEvent() }

// AgentStart opens a run.
type AgentStart struct{}

// AgentEnd closes a run.
type AgentEnd struct {
	Messages []llm.Message // those that the run added
	Reason   StopReason    // never empty
}

// TurnStart opens a turn: one answer with the tool calls in it.
type TurnStart struct{}

// TurnEnd closes a turn; ToolResults stand in the order of the calls.
type TurnEnd struct {
	Message     *llm.Assistant
	ToolResults []*llm.ToolResult
}

// MessageStart opens a message.
type MessageStart struct{ Message llm.Message }

// MessageUpdate tells of a piece of an answer that streams in.
type MessageUpdate struct {
	Message *llm.Assistant // what has come so far
	Stream  llm.StreamEvent
}

// MessageEnd closes a message, which is now part of the conversation.
type MessageEnd struct{ Message llm.Message }

// ToolExecutionStart opens a tool call; Args are as the model sent them.
type ToolExecutionStart struct {
	ToolCallID string
	ToolName   string
	Args       json.RawMessage
}

// ToolExecutionUpdate carries a partial result.
type ToolExecutionUpdate struct {
	ToolCallID string
	ToolName   string
	Args       json.RawMessage
	Partial    tool.Result
}

// ToolExecutionEnd closes a tool call with its final result.
type ToolExecutionEnd struct {
	ToolCallID string
	ToolName   string
	Result     tool.Result
	IsError    bool
	Denied     bool // policy or another before hook blocked it
	// EffectiveArgs are what ran, validated and as hooks left them; nil if
	// nothing did (hazard LOOP-02).
	EffectiveArgs json.RawMessage
}

func (AgentStart) isEvent()          {}
func (AgentEnd) isEvent()            {}
func (TurnStart) isEvent()           {}
func (TurnEnd) isEvent()             {}
func (MessageStart) isEvent()        {}
func (MessageUpdate) isEvent()       {}
func (MessageEnd) isEvent()          {}
func (ToolExecutionStart) isEvent()  {}
func (ToolExecutionUpdate) isEvent() {}
func (ToolExecutionEnd) isEvent()    {}

package llm

import (
	"encoding/json"

	"github.com/piremote/piremote/tools/tool"
)

// Message is one entry of a conversation: *User, *Assistant or *ToolResult.
// Messages are not changed once they are part of a conversation, except where
// the agent's contract says so.
//
//sumtype:decl
type Message interface {
	Record
	isMessage()
}

// User is what a person, or a program in their place, said.
type User struct {
	Content   []tool.Content
	Timestamp int64 // milliseconds since 1970
}

// Assistant is a model's answer.
type Assistant struct {
	Content      []Block
	API          string // the wire that the provider speaks, such as anthropic-messages
	Provider     string
	Model        string
	StopReason   StopReason
	ErrorMessage string // for the stop reasons error and aborted
	Usage        tool.Usage
	Timestamp    int64
}

// ToolResult is the one result of one tool call.
type ToolResult struct {
	ToolCallID     string
	ToolName       string
	Content        []tool.Content
	Details        any
	Usage          *tool.Usage
	AddedToolNames []string
	IsError        bool
	Timestamp      int64
}

func (*User) isMessage()       {}
func (*Assistant) isMessage()  {}
func (*ToolResult) isMessage() {}

// Block is a part of an answer: *Text, *Thinking or *ToolCall.
//
//sumtype:decl
type Block interface{ isBlock() }

// Text is prose.
type Text struct{ Text string }

// Thinking is reasoning; Signature is the provider's seal on it, sent back as it is.
type Thinking struct {
	Text      string
	Signature string
	Redacted  bool
}

// ToolCall asks for a tool to run.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage
}

func (*Text) isBlock()     {}
func (*Thinking) isBlock() {}
func (*ToolCall) isBlock() {}

// StopReason is why an answer ended.
type StopReason string

// The stop reasons.
const (
	StopEnd      StopReason = "stop"
	StopLength   StopReason = "length"
	StopToolUse  StopReason = "toolUse"
	StopDeferred StopReason = "deferred"
	StopError    StopReason = "error"
	StopAborted  StopReason = "aborted"
)

// ToolCalls lists the tool calls of an answer in their order.
func (m *Assistant) ToolCalls() []*ToolCall {
	var calls []*ToolCall
	for _, b := range m.Content {
		if c, ok := b.(*ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// Text joins the prose of an answer.
func (m *Assistant) Text() string {
	text := ""
	for _, b := range m.Content {
		if t, ok := b.(*Text); ok {
			text += t.Text
		}
	}
	return text
}

// UserText is a message of text.
func UserText(text string, timestamp int64) *User {
	return &User{Content: []tool.Content{tool.Text{Text: text}}, Timestamp: timestamp}
}

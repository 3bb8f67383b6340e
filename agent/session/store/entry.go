package store

import (
	"encoding/json"
	"time"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// Entry is a record of a session: Message, ModelChange, ThinkingLevelChange, Usage,
// Compaction, ContextEdit, BranchSummary, Custom, CustomMessage, Label, SessionInfo
// or Unknown. Entries are values; what they point to is not changed once they are
// part of a Log.
//
//sumtype:decl
type Entry interface {
	// Meta is where the entry stands.
	Meta() Base
	// Kind is the type as files write it, such as model_change.
	Kind() string
	with(b Base) Entry
}

// Base is what every entry has. Append fills it in.
type Base struct {
	ID       string
	ParentID string // empty for a root
	Time     time.Time
	line     json.RawMessage // as read, with what is not known here
}

// Meta returns b.
func (b Base) Meta() Base { return b }

// Message is a message of the conversation.
type Message struct {
	Base    `json:"-"`
	Message llm.Record `json:"message"`
}

// ModelChange chooses the model from here on.
type ModelChange struct {
	Base     `json:"-"`
	Provider string `json:"provider"`
	ModelID  string `json:"modelId"`
}

// ThinkingLevelChange chooses how much the model thinks from here on.
type ThinkingLevelChange struct {
	Base          `json:"-"`
	ThinkingLevel string `json:"thinkingLevel"`
}

// Usage is what a model consumed beside the conversation.
type Usage struct {
	Base      `json:"-"`
	Operation string      `json:"kind"` // any name, such as cache_warm
	Provider  string      `json:"provider"`
	Model     string      `json:"model"`
	Note      string      `json:"note,omitempty"`
	Usage     *tool.Usage `json:"-"`
}

// Compaction replaces what is before FirstKeptID by a summary. An empty FirstKeptID
// keeps nothing: Append puts the entry's own id there.
type Compaction struct {
	Base         `json:"-"`
	Summary      string          `json:"summary"`
	FirstKeptID  string          `json:"firstKeptEntryId"`
	TokensBefore int64           `json:"tokensBefore"`
	Details      json.RawMessage `json:"details,omitempty"` // such as {"readFiles":[…],"modifiedFiles":[…]}
	FromHook     bool            `json:"fromHook,omitempty"`
	// SystemMessage is the prompt at this point, of sessions that keep it.
	SystemMessage json.RawMessage `json:"systemMessage,omitempty"`
	Usage         *tool.Usage     `json:"-"`
}

// ContextEdit changes what the model sees of an earlier entry: Replacement is null,
// which leaves the entry out, or {"content":…}.
type ContextEdit struct {
	Base        `json:"-"`
	TargetID    string          `json:"targetId"`
	Replacement json.RawMessage `json:"replacement"`
}

// BranchSummary tells what happened on the branch that ended at FromID and was left.
type BranchSummary struct {
	Base     `json:"-"`
	FromID   string          `json:"fromId"`
	Summary  string          `json:"summary"`
	Details  json.RawMessage `json:"details,omitempty"`
	FromHook bool            `json:"fromHook,omitempty"`
	Usage    *tool.Usage     `json:"-"`
}

// Custom is state that some part of the product keeps; no model sees it.
type Custom struct {
	Base       `json:"-"`
	CustomType string          `json:"customType"`
	Data       json.RawMessage `json:"data,omitempty"`
}

// CustomMessage is context that some part of the product gave; a model sees it.
type CustomMessage struct {
	Base       `json:"-"`
	CustomType string          `json:"customType"`
	Content    json.RawMessage `json:"content"` // a string, or a list of blocks
	Display    bool            `json:"display"`
	Details    json.RawMessage `json:"details,omitempty"`
}

// Label names an entry; an empty label takes the name away.
type Label struct {
	Base     `json:"-"`
	TargetID string `json:"targetId"`
	Label    string `json:"label,omitempty"`
}

// SessionInfo names the session; an empty name takes it away.
type SessionInfo struct {
	Base `json:"-"`
	Name string `json:"name"`
}

// Unknown is an entry of a type that is not known here. Raw is all of it; Base
// goes before what Raw says of it.
type Unknown struct {
	Base `json:"-"`
	Type string
	Raw  json.RawMessage
}

// Kind is message.
func (Message) Kind() string { return "message" }

// Kind is model_change.
func (ModelChange) Kind() string { return "model_change" }

// Kind is thinking_level_change.
func (ThinkingLevelChange) Kind() string { return "thinking_level_change" }

// Kind is usage.
func (Usage) Kind() string { return "usage" }

// Kind is compaction.
func (Compaction) Kind() string { return "compaction" }

// Kind is context_edit.
func (ContextEdit) Kind() string { return "context_edit" }

// Kind is branch_summary.
func (BranchSummary) Kind() string { return "branch_summary" }

// Kind is custom.
func (Custom) Kind() string { return "custom" }

// Kind is custom_message.
func (CustomMessage) Kind() string { return "custom_message" }

// Kind is label.
func (Label) Kind() string { return "label" }

// Kind is session_info.
func (SessionInfo) Kind() string { return "session_info" }

// Kind is the type.
func (u Unknown) Kind() string { return u.Type }

func (e Message) with(b Base) Entry             { e.Base = b; return e }
func (e ModelChange) with(b Base) Entry         { e.Base = b; return e }
func (e ThinkingLevelChange) with(b Base) Entry { e.Base = b; return e }
func (e Usage) with(b Base) Entry               { e.Base = b; return e }
func (e Compaction) with(b Base) Entry          { e.Base = b; return e }
func (e ContextEdit) with(b Base) Entry         { e.Base = b; return e }
func (e BranchSummary) with(b Base) Entry       { e.Base = b; return e }
func (e Custom) with(b Base) Entry              { e.Base = b; return e }
func (e CustomMessage) with(b Base) Entry       { e.Base = b; return e }
func (e Label) with(b Base) Entry               { e.Base = b; return e }
func (e SessionInfo) with(b Base) Entry         { e.Base = b; return e }
func (e Unknown) with(b Base) Entry             { e.Base = b; return e }

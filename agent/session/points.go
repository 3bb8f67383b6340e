package session

import (
	"encoding/json"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// The points that observe.
var (
	OnSessionStart          = Observed[Started]{"session_start"}
	OnSessionShutdown       = Observed[Shutdown]{"session_shutdown"}
	OnInfoChanged           = Observed[InfoChanged]{"session_info_changed"}
	OnCompact               = Observed[Compacted]{"session_compact"}
	OnCompactFailed         = Observed[CompactFailed]{"session_compact_failed"}
	OnTree                  = Observed[Moved]{"session_tree"}
	OnAgentStart            = Observed[agent.AgentStart]{"agent_start"}
	OnAgentEnd              = Observed[agent.AgentEnd]{"agent_end"}
	OnAgentSettled          = Observed[AgentSettled]{"agent_settled"}
	OnTurnStart             = Observed[agent.TurnStart]{"turn_start"}
	OnTurnEnd               = Observed[agent.TurnEnd]{"turn_end"}
	OnMessageStart          = Observed[agent.MessageStart]{"message_start"}
	OnMessageUpdate         = Observed[agent.MessageUpdate]{"message_update"}
	OnToolExecutionStart    = Observed[agent.ToolExecutionStart]{"tool_execution_start"}
	OnToolExecutionUpdate   = Observed[agent.ToolExecutionUpdate]{"tool_execution_update"}
	OnToolExecutionEnd      = Observed[agent.ToolExecutionEnd]{"tool_execution_end"}
	OnModelSelect           = Observed[ModelInfo]{"model_select"}
	OnThinkingLevelSelect   = Observed[ThinkingLevelChanged]{"thinking_level_select"}
	OnAfterProviderResponse = Observed[ProviderResponse]{"after_provider_response"}
	OnUIPromptStart         = Observed[UIPrompt]{"ui_prompt_start"}
	OnUIPromptEnd           = Observed[UIPrompt]{"ui_prompt_end"}
)

// The points that may change or stop what is about to happen.
var (
	OnInput                 = Changing[Input]{name: "input"}
	OnBeforeAgentStart      = Changing[BeforeStart]{name: "before_agent_start"}
	OnContext               = Changing[Context]{name: "context"}
	OnBeforeProviderRequest = Changing[llm.Request]{name: "before_provider_request"}
	OnToolCall              = Changing[ToolCall]{name: "tool_call", closed: true}
	OnToolResult            = Changing[ToolResult]{name: "tool_result"}
	OnMessageEnd            = Changing[MessageEnd]{name: "message_end"}
	OnUserBash              = Changing[UserBash]{name: "user_bash", closed: true}
	OnBeforeSwitch          = Changing[BeforeSwitch]{name: "session_before_switch"}
	OnBeforeFork            = Changing[BeforeFork]{name: "session_before_fork"}
	OnBeforeTree            = Changing[BeforeTree]{name: "session_before_tree"}
	OnBeforeCompact         = Changing[BeforeCompact]{name: "session_before_compact"}
)

// Started says why a session begins: startup, new, resume or fork.
type Started struct{ Reason string }

// Shutdown says why a session ends: quit, new, resume or fork.
type Shutdown struct{ Reason string }

// Compacted is a compaction that is done.
type Compacted struct {
	Reason   CompactionReason
	Entry    store.Compaction
	FromHook bool
}

// CompactFailed is a compaction that failed; ErrorMessage is empty if it was
// aborted.
type CompactFailed struct {
	Reason       CompactionReason
	ErrorMessage string
	Aborted      bool
	FromHook     bool // a hook had given the summary
}

// ProviderResponse is how a request to a model ended.
type ProviderResponse struct {
	Answer *llm.Assistant // what came, or nil
	Err    error
}

// UIPrompt is a question to the person. Its hooks are told beside it, in no order
// with the answer.
type UIPrompt struct {
	Kind  DialogKind
	Title string
}

// Input is what a person or a program says.
type Input struct {
	Text   string
	Images []tool.Image
	// While a run goes on, Behavior says which queue it goes to; empty is refused
	// then.
	Behavior Behavior
	Source   string // such as rpc
	// Handled is set by a hook that has dealt with it: nothing else happens.
	Handled bool
}

// BeforeStart is what a run begins with. Hooks may add messages and replace the
// system prompt of this run.
type BeforeStart struct {
	Messages []llm.Message
	System   string
}

// Context are the messages of one request; the conversation itself stays.
type Context struct{ Messages []llm.Message }

// ToolCall is a call that is about to run. A hook may write other Args, which are
// validated again, or Block it.
type ToolCall struct {
	ID, Name string
	Args     json.RawMessage
	Block    bool
	Reason   string // for the model
}

// ToolResult is the result of a call, before the model sees it.
type ToolResult struct {
	ID, Name string
	Args     json.RawMessage
	Content  []tool.Content
	Details  any
	Usage    *tool.Usage
	IsError  bool
}

// MessageEnd is a message that is whole. A hook may put another of the same kind
// in its place.
type MessageEnd struct{ Message llm.Message }

// UserBash is a command that a person runs. A hook may change it, or set Result,
// and then nothing runs.
type UserBash struct {
	Command            string
	ExcludeFromContext bool
	Result             *BashResult
}

// BeforeSwitch comes before another session takes the place of this one.
type BeforeSwitch struct {
	Reason string // new or resume
	Target string // of a resume
	Cancel bool
}

// BeforeFork comes before a fork of this session takes its place.
type BeforeFork struct {
	EntryID string
	Cancel  bool
}

// Moved says that the leaf went from one entry to another.
type Moved struct{ From, To string }

// BeforeTree comes before the leaf moves. A hook may give a Summary of the branch that
// is left, and then no model is asked.
type BeforeTree struct {
	Moved
	Cancel  bool
	Summary string
	Details json.RawMessage
}

// BeforeCompact comes before a summary is asked for. A hook may give Summary, and
// then no model is asked.
type BeforeCompact struct {
	Reason           CompactionReason
	Messages         []llm.Record // that the summary replaces
	FirstKeptEntryID string
	TokensBefore     int64
	Instructions     string
	Summary          string
	Details          json.RawMessage
	Cancel           bool
}

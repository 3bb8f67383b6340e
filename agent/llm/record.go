package llm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/piremote/piremote/tools/tool"
)

// Record is a message as a session keeps it: a Message, or one that the product
// adds: *BashExecution, *Custom, *BranchSummary, *CompactionSummary or *Other.
// ToModel says what a model gets to see of it.
//
//sumtype:decl
type Record interface{ isRecord() }

// BashExecution is a command that the user ran on the workspace, outside the
// model's calls.
type BashExecution struct {
	Command string `json:"command"`
	Output  string `json:"output"`
	// ExitCode is nil for a command that was cancelled or killed.
	ExitCode       *int   `json:"exitCode,omitempty"`
	Cancelled      bool   `json:"cancelled"`
	Truncated      bool   `json:"truncated"`
	FullOutputPath string `json:"fullOutputPath,omitempty"`
	// ExcludeFromContext keeps it from the model.
	ExcludeFromContext bool  `json:"excludeFromContext,omitempty"`
	Timestamp          int64 `json:"timestamp"` // milliseconds since 1970
}

// Custom is context that a part of the product, or an extension, gave.
type Custom struct {
	CustomType string
	Content    []tool.Content
	Display    bool // whether screens show it
	// Details is for programs: JSON, or nil.
	Details   json.RawMessage
	Timestamp int64
}

// BranchSummary tells what happened on a branch that was left.
type BranchSummary struct {
	Summary   string `json:"summary"`
	FromID    string `json:"fromId"` // the entry that was left
	Timestamp int64  `json:"timestamp"`
}

// CompactionSummary stands for what was before it.
type CompactionSummary struct {
	Summary      string `json:"summary"`
	TokensBefore int64  `json:"tokensBefore"`
	Timestamp    int64  `json:"timestamp"`
}

// Other is a message of a role that is not known here, such as the system
// messages of other programs' sessions. It is kept as it came.
type Other struct {
	Role string
	JSON json.RawMessage
}

func (*User) isRecord()              {}
func (*Assistant) isRecord()         {}
func (*ToolResult) isRecord()        {}
func (*BashExecution) isRecord()     {}
func (*Custom) isRecord()            {}
func (*BranchSummary) isRecord()     {}
func (*CompactionSummary) isRecord() {}
func (*Other) isRecord()             {}

// ToModel is what a model gets to see of a record; nil is nothing. A Message is
// itself, the others become what a user said.
func ToModel(r Record) Message {
	switch r := r.(type) {
	case *User:
		return r
	case *Assistant:
		return r
	case *ToolResult:
		return r
	case *BashExecution:
		if r.ExcludeFromContext {
			return nil
		}
		return UserText(r.text(), r.Timestamp)
	case *Custom:
		return &User{Content: r.Content, Timestamp: r.Timestamp}
	case *BranchSummary:
		return UserText("The conversation was on another branch before and came back from there. What happened on that branch:\n\n<summary>\n"+r.Summary+"\n</summary>", r.Timestamp)
	case *CompactionSummary:
		return UserText("What was said before this point has been replaced by a summary of it:\n\n<summary>\n"+r.Summary+"\n</summary>", r.Timestamp)
	case *Other:
	}
	return nil
}

// text tells a model about a command.
func (b *BashExecution) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "The user ran a command:\n```\n%s\n```\n", b.Command)
	if b.Output == "" {
		s.WriteString("It wrote nothing.")
	} else {
		fmt.Fprintf(&s, "It wrote:\n```\n%s\n```", strings.TrimSuffix(b.Output, "\n"))
	}
	switch {
	case b.Cancelled:
		s.WriteString("\nIt was cancelled.")
	case b.ExitCode != nil && *b.ExitCode != 0:
		fmt.Fprintf(&s, "\nIt ended with exit code %d.", *b.ExitCode)
	}
	if b.Truncated && b.FullOutputPath != "" {
		fmt.Fprintf(&s, "\nThis is only part of the output; all of it is in %s.", b.FullOutputPath)
	}
	return s.String()
}

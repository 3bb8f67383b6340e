package export

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
)

// blocksOf is what the page shows of an entry.
func blocksOf(e store.Entry) []block {
	switch e := e.(type) {
	case store.Message:
		return messageBlocks(e.Message)
	case store.CustomMessage:
		content, err := llm.UnmarshalContent(e.Content)
		if !e.Display || err != nil {
			return nil
		}
		return []block{{Class: "event", Title: e.CustomType, Parts: fragments(content)}}
	case store.ModelChange:
		return event("The model is now " + e.Provider + "/" + e.ModelID)
	case store.ThinkingLevelChange:
		return event("The thinking level is now " + e.ThinkingLevel)
	case store.Compaction:
		return []block{text("event", fmt.Sprintf("The conversation was compacted, of about %d tokens", e.TokensBefore), e.Summary, true)}
	case store.BranchSummary:
		return []block{text("event", "Another branch was left", e.Summary, true)}
	case store.ContextEdit:
		return event("The model no longer sees the message " + e.TargetID + " as it was")
	case store.Usage, store.Custom, store.Label, store.SessionInfo, store.Unknown:
	}
	return nil
}

func event(title string) []block { return []block{{Class: "event", Title: title}} }

func text(class, title, text string, fold bool) block {
	return block{Class: class, Title: title, Fold: fold, Parts: []fragment{{Text: text}}}
}

func messageBlocks(r llm.Record) []block {
	switch m := r.(type) {
	case *llm.User:
		return []block{{Class: "user", Title: "User", Parts: fragments(m.Content)}}
	case *llm.Assistant:
		return answerBlocks(m)
	case *llm.ToolResult:
		if m.IsError {
			return []block{{Class: "failure", Title: m.ToolName + " failed", Fold: true, Parts: fragments(m.Content)}}
		}
		return []block{{Class: "result", Title: "Result of " + m.ToolName, Fold: true, Parts: fragments(m.Content)}}
	case *llm.BashExecution:
		title := "The user ran a command"
		if m.Cancelled {
			title += ", which was cancelled"
		} else if m.ExitCode != nil {
			title += fmt.Sprintf(", exit code %d", *m.ExitCode)
		}
		return []block{text("call", title, "$ "+m.Command+"\n"+m.Output, false)}
	case *llm.Custom:
		if m.Display {
			return []block{{Class: "event", Title: m.CustomType, Parts: fragments(m.Content)}}
		}
	case *llm.BranchSummary:
		return []block{text("event", "Another branch was left", m.Summary, true)}
	case *llm.CompactionSummary:
		return []block{text("event", "The conversation was compacted", m.Summary, true)}
	case *llm.Other:
	}
	return nil
}

func answerBlocks(m *llm.Assistant) []block {
	var list []block
	for _, b := range m.Content {
		switch b := b.(type) {
		case *llm.Text:
			list = append(list, text("agent", m.Provider+"/"+m.Model, b.Text, false))
		case *llm.Thinking:
			if b.Text != "" {
				list = append(list, text("thinking", "Thinking", b.Text, true))
			}
		case *llm.ToolCall:
			list = append(list, text("call", "Call of "+b.Name, indented(b.Arguments), true))
		}
	}
	if m.ErrorMessage != "" {
		list = append(list, text("failure", "The answer ended: "+string(m.StopReason), m.ErrorMessage, false))
	}
	return list
}

// indented is JSON for people; what is none stays.
func indented(data json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return string(data)
	}
	return b.String()
}

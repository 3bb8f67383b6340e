package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// decode reads a line of version 3.
func decode(line []byte) (Entry, error) {
	var head struct {
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		ParentID  string          `json:"parentId"`
		Timestamp string          `json:"timestamp"`
		Message   json.RawMessage `json:"message"`
		Usage     json.RawMessage `json:"usage"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, err
	}
	if head.Type == "" || head.ID == "" {
		return nil, errors.New("it has no type or no id")
	}
	line = bytes.Clone(line)
	e, err := decodeAs(head.Type, line, head.Message, head.Usage)
	if err != nil {
		return nil, fmt.Errorf("its entry %s of type %s: %w", head.ID, head.Type, err)
	}
	return e.with(Base{head.ID, head.ParentID, parseTime(head.Timestamp), line}), nil
}

func decodeAs(kind string, line, message, usage json.RawMessage) (Entry, error) {
	switch kind {
	case "message":
		r, err := llm.UnmarshalRecord(message)
		return Message{Message: r}, err
	case "model_change":
		return into[ModelChange](line)
	case "thinking_level_change":
		return into[ThinkingLevelChange](line)
	case "usage":
		e, err := into[Usage](line)
		if err == nil {
			e.Usage, err = decodeUsage(usage)
		}
		return e, err
	case "compaction":
		e, err := into[Compaction](line)
		if err == nil {
			e.Usage, err = decodeUsage(usage)
		}
		return e, err
	case "context_edit":
		return into[ContextEdit](line)
	case "branch_summary":
		e, err := into[BranchSummary](line)
		if err == nil {
			e.Usage, err = decodeUsage(usage)
		}
		return e, err
	case "custom":
		return into[Custom](line)
	case "custom_message":
		return into[CustomMessage](line)
	case "label":
		return into[Label](line)
	case "session_info":
		return into[SessionInfo](line)
	}
	return Unknown{Type: kind, Raw: line}, nil
}

func into[E Entry](line []byte) (E, error) {
	var e E
	err := json.Unmarshal(line, &e)
	return e, err
}

func decodeUsage(data json.RawMessage) (*tool.Usage, error) {
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	u, err := llm.UnmarshalUsage(data)
	return &u, err
}

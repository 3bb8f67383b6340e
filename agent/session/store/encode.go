package store

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// JSON is an entry as files have it: one line, without its end.
func JSON(e Entry) (json.RawMessage, error) {
	if line := e.Meta().line; line != nil {
		return line, nil
	}
	line, _, err := encode(e, nil)
	return line, err
}

// encode writes the line of an entry, with its content redacted, and reports
// whether that changed something.
func encode(e Entry, redact func([]byte) []byte) (line json.RawMessage, redacted bool, err error) {
	content, err := payload(e)
	if err != nil {
		return nil, false, fmt.Errorf("the entry of type %s can't be written as JSON: %w", e.Kind(), err)
	}
	if redact != nil {
		clean := redactStrings(content, redact)
		content, redacted = clean, !bytes.Equal(clean, content)
	}
	m := e.Meta()
	parent := json.RawMessage("null")
	if m.ParentID != "" {
		parent = quote(m.ParentID)
	}
	line = make(json.RawMessage, 0, len(content)+160)
	line = append(append(line, `{"type":`...), quote(e.Kind())...)
	line = append(append(line, `,"id":`...), quote(m.ID)...)
	line = append(append(line, `,"parentId":`...), parent...)
	line = append(append(line, `,"timestamp":"`...), stamp(m.Time)...)
	line = append(line, '"')
	if len(content) > len("{}") {
		line = append(line, ',')
	}
	return append(line, content[1:]...), redacted, nil
}

// payload is the JSON object of what an entry has beside its base.
func payload(e Entry) (json.RawMessage, error) {
	if u, ok := e.(Unknown); ok {
		list, err := parseMembers(u.Raw)
		if err != nil {
			return nil, err
		}
		for _, key := range []string{"type", "id", "parentId", "timestamp"} {
			list = list.set(key, nil)
		}
		var b bytes.Buffer
		err = json.Compact(&b, list.bytes())
		return b.Bytes(), err
	}
	content, err := json.Marshal(e)
	u := usageOf(e)
	if err != nil || u == nil {
		return content, err
	}
	usage, err := llm.MarshalUsage(*u)
	content = append(content[:len(content)-1], `,"usage":`...)
	content = append(content, usage...)
	return append(content, '}'), err
}

func usageOf(e Entry) *tool.Usage {
	switch e := e.(type) {
	case Usage:
		if e.Usage == nil {
			return &tool.Usage{}
		}
		return e.Usage
	case Compaction:
		return e.Usage
	case BranchSummary:
		return e.Usage
	case Message, ModelChange, ThinkingLevelChange, ContextEdit, Custom, CustomMessage, Label, SessionInfo, Unknown:
	}
	return nil
}

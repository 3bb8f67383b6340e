package llm

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/piremote/piremote/tools/tool"
)

// wire is every field of every message that is read.
type wire struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Timestamp int64           `json:"timestamp"`

	API          string     `json:"api"`
	Provider     string     `json:"provider"`
	Model        string     `json:"model"`
	StopReason   StopReason `json:"stopReason"`
	ErrorMessage string     `json:"errorMessage"`
	Usage        *usageJSON `json:"usage"`

	ToolCallID     string          `json:"toolCallId"`
	ToolName       string          `json:"toolName"`
	Details        json.RawMessage `json:"details"`
	AddedToolNames []string        `json:"addedToolNames"`
	IsError        bool            `json:"isError"`

	CustomType string `json:"customType"`
	Display    bool   `json:"display"`
}

// UnmarshalRecord reads the JSON of a message. Fields and blocks that are not
// known are left out, content may be a string, a list or missing, and a message
// of another role is an *Other. Details are a json.RawMessage.
func UnmarshalRecord(data []byte) (Record, error) {
	var role struct {
		Role string `json:"role"`
	}
	if err := json.Unmarshal(data, &role); err != nil {
		return nil, fmt.Errorf("the message is no JSON object: %w", err)
	}
	var r Record
	var err error
	switch role.Role {
	case "":
		return nil, errors.New("the message has no role")
	case "user", "assistant", "toolResult", "custom":
		r, err = conversation(data)
	case "bashExecution":
		b := &BashExecution{}
		r, err = b, json.Unmarshal(data, b)
	case "branchSummary":
		b := &BranchSummary{}
		r, err = b, json.Unmarshal(data, b)
	case "compactionSummary":
		c := &CompactionSummary{}
		r, err = c, json.Unmarshal(data, c)
	default:
		return &Other{Role: role.Role, JSON: append(json.RawMessage(nil), data...)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the %s message can't be read: %w", role.Role, err)
	}
	return r, nil
}

// UnmarshalMessage reads the JSON of a message that a model may see.
func UnmarshalMessage(data []byte) (Message, error) {
	r, err := UnmarshalRecord(data)
	if err != nil {
		return nil, err
	}
	m, ok := r.(Message)
	if !ok {
		return nil, errors.New("the message is of none of the roles user, assistant and toolResult")
	}
	return m, nil
}

// conversation reads the messages that have content.
func conversation(data []byte) (Record, error) {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, err
	}
	if w.Role == "assistant" {
		content, err := unmarshalBlocks(w.Content)
		m := &Assistant{
			Content: content, API: w.API, Provider: w.Provider, Model: w.Model, StopReason: w.StopReason,
			ErrorMessage: w.ErrorMessage, Timestamp: w.Timestamp,
		}
		if w.Usage != nil {
			m.Usage = tool.Usage(*w.Usage)
		}
		return m, err
	}
	content, err := UnmarshalContent(w.Content)
	switch w.Role {
	case "toolResult":
		m := &ToolResult{
			ToolCallID: w.ToolCallID, ToolName: w.ToolName, Content: content, Usage: (*tool.Usage)(w.Usage),
			AddedToolNames: w.AddedToolNames, IsError: w.IsError, Timestamp: w.Timestamp,
		}
		if present(w.Details) {
			m.Details = w.Details
		}
		return m, err
	case "custom":
		m := &Custom{CustomType: w.CustomType, Content: content, Display: w.Display, Timestamp: w.Timestamp}
		if present(w.Details) {
			m.Details = w.Details
		}
		return m, err
	}
	return &User{Content: content, Timestamp: w.Timestamp}, err
}

func present(data json.RawMessage) bool { return len(data) > 0 && string(data) != "null" }

// blockJSON is every field of every block that is read.
type blockJSON struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Data      []byte          `json:"data"`
	MIMEType  string          `json:"mimeType"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"thinkingSignature"`
	Redacted  bool            `json:"redacted"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// list reads blocks; a string is one block of text, null and nothing are none.
func list(data json.RawMessage) ([]blockJSON, error) {
	if !present(data) {
		return nil, nil
	}
	if data[0] == '"' {
		b := blockJSON{Type: "text"}
		err := json.Unmarshal(data, &b.Text)
		return []blockJSON{b}, err
	}
	var blocks []blockJSON
	err := json.Unmarshal(data, &blocks)
	return blocks, err
}

// UnmarshalContent reads text and images: a list of blocks, or a string.
func UnmarshalContent(data json.RawMessage) ([]tool.Content, error) {
	blocks, err := list(data)
	var content []tool.Content
	for _, b := range blocks {
		switch b.Type {
		case "text":
			content = append(content, tool.Text{Text: b.Text})
		case "image":
			content = append(content, tool.Image{Data: b.Data, MIMEType: b.MIMEType})
		}
	}
	return content, err
}

func unmarshalBlocks(data json.RawMessage) ([]Block, error) {
	blocks, err := list(data)
	var content []Block
	for _, b := range blocks {
		switch b.Type {
		case "text":
			content = append(content, &Text{Text: b.Text})
		case "thinking":
			content = append(content, &Thinking{Text: b.Thinking, Signature: b.Signature, Redacted: b.Redacted})
		case "toolCall":
			content = append(content, &ToolCall{ID: b.ID, Name: b.Name, Arguments: arguments(b.Arguments)})
		}
	}
	return content, err
}

// arguments undoes what ToolCall.MarshalJSON does to arguments that are no JSON.
func arguments(data json.RawMessage) json.RawMessage {
	var text string
	if len(data) > 0 && data[0] == '"' && json.Unmarshal(data, &text) == nil && !json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return data
}

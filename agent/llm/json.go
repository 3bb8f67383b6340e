package llm

import (
	"encoding/json"

	"github.com/piremote/piremote/tools/tool"
)

// The JSON forms of messages, as sessions and event streams carry them.

// MarshalJSON writes {"role":"user",…}.
func (m *User) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Role      string `json:"role"`
		Content   []any  `json:"content"`
		Timestamp int64  `json:"timestamp"`
	}{"user", ContentJSON(m.Content), m.Timestamp})
}

// MarshalJSON writes {"role":"assistant",…}.
func (m *Assistant) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Role         string     `json:"role"`
		Content      []any      `json:"content"`
		API          string     `json:"api"`
		Provider     string     `json:"provider"`
		Model        string     `json:"model"`
		StopReason   StopReason `json:"stopReason,omitempty"`
		ErrorMessage string     `json:"errorMessage,omitempty"`
		Usage        usageJSON  `json:"usage"`
		Timestamp    int64      `json:"timestamp"`
	}{"assistant", blocksJSON(m.Content), m.API, m.Provider, m.Model, m.StopReason, m.ErrorMessage, usageJSON(m.Usage), m.Timestamp})
}

// MarshalJSON writes {"role":"toolResult",…}.
func (m *ToolResult) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Role           string     `json:"role"`
		ToolCallID     string     `json:"toolCallId"`
		ToolName       string     `json:"toolName"`
		Content        []any      `json:"content"`
		Details        any        `json:"details,omitempty"`
		Usage          *usageJSON `json:"usage,omitempty"`
		AddedToolNames []string   `json:"addedToolNames,omitempty"`
		IsError        bool       `json:"isError"`
		Timestamp      int64      `json:"timestamp"`
	}{
		"toolResult", m.ToolCallID, m.ToolName, ContentJSON(m.Content), m.Details, (*usageJSON)(m.Usage), m.AddedToolNames, m.IsError, m.Timestamp,
	})
}

// ContentJSON is the JSON form of content: {"type":"text","text":…} and
// {"type":"image","data":…,"mimeType":…}. It is never nil.
func ContentJSON(content []tool.Content) []any {
	list := []any{}
	for _, c := range content {
		switch c := c.(type) {
		case tool.Text:
			list = append(list, struct {
				Type string `json:"type"`
				Text string `json:"text"`
			}{"text", c.Text})
		case tool.Image:
			list = append(list, struct {
				Type     string `json:"type"`
				Data     []byte `json:"data"` // base64
				MIMEType string `json:"mimeType"`
			}{"image", c.Data, c.MIMEType})
		}
	}
	return list
}

func blocksJSON(blocks []Block) []any {
	list := []any{}
	for _, b := range blocks {
		list = append(list, b)
	}
	return list
}

// MarshalJSON writes {"type":"text",…}.
func (b *Text) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", b.Text})
}

// MarshalJSON writes {"type":"thinking",…}.
func (b *Thinking) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"thinkingSignature,omitempty"`
		Redacted  bool   `json:"redacted,omitempty"`
	}{"thinking", b.Text, b.Signature, b.Redacted})
}

// MarshalJSON writes {"type":"toolCall",…}. Arguments that are no JSON, as of a
// cut answer, are written as a string.
func (b *ToolCall) MarshalJSON() ([]byte, error) {
	var arguments any = b.Arguments
	switch {
	case len(b.Arguments) == 0:
		arguments = struct{}{}
	case !json.Valid(b.Arguments):
		arguments = string(b.Arguments)
	}
	return json.Marshal(struct {
		Type      string `json:"type"`
		ID        string `json:"id"`
		Name      string `json:"name"`
		Arguments any    `json:"arguments"`
	}{"toolCall", b.ID, b.Name, arguments})
}

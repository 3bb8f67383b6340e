package fantasyllm

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// call turns a request into the library's form.
func (p *provider) call(req llm.Request) (fantasy.Call, error) {
	c := fantasy.Call{MaxOutputTokens: &p.options.MaxOutput, UserAgent: "piremote"}
	if req.System != "" {
		c.Prompt = append(c.Prompt, fantasy.NewSystemMessage(req.System))
	}
	for _, m := range req.Messages {
		switch m := m.(type) {
		case *llm.User:
			c.Prompt = append(c.Prompt, userMessage(m))
		case *llm.Assistant:
			if parts := p.assistantParts(m); len(parts) > 0 {
				c.Prompt = append(c.Prompt, fantasy.Message{Role: fantasy.MessageRoleAssistant, Content: parts})
			}
		case *llm.ToolResult:
			part := fantasy.ToolResultPart{ToolCallID: m.ToolCallID, Output: toolOutput(m)}
			if n := len(c.Prompt); n > 0 && c.Prompt[n-1].Role == fantasy.MessageRoleTool {
				c.Prompt[n-1].Content = append(c.Prompt[n-1].Content, part)
			} else {
				c.Prompt = append(c.Prompt, fantasy.Message{Role: fantasy.MessageRoleTool, Content: []fantasy.MessagePart{part}})
			}
		}
	}
	for _, d := range req.Tools {
		var schema map[string]any
		if err := json.Unmarshal(d.Parameters, &schema); err != nil {
			return c, fmt.Errorf("schema of tool %s: %w", d.Name, err)
		}
		c.Tools = append(c.Tools, fantasy.FunctionTool{Name: d.Name, Description: d.Description, InputSchema: schema})
	}
	return c, nil
}

func userMessage(m *llm.User) fantasy.Message {
	out := fantasy.Message{Role: fantasy.MessageRoleUser}
	for _, block := range m.Content {
		switch b := block.(type) {
		case tool.Text:
			out.Content = append(out.Content, fantasy.TextPart{Text: b.Text})
		case tool.Image:
			out.Content = append(out.Content, fantasy.FilePart{Data: b.Data, MediaType: b.MIMEType})
		}
	}
	return out
}

// assistantParts repeats an answer to the provider. Thinking goes back only with
// the seal of the wire that is asked; calls whose arguments were cut go back as
// an empty object, since no provider takes less.
func (p *provider) assistantParts(m *llm.Assistant) []fantasy.MessagePart {
	var parts []fantasy.MessagePart
	for _, block := range m.Content {
		switch b := block.(type) {
		case *llm.Text:
			if b.Text != "" {
				parts = append(parts, fantasy.TextPart{Text: b.Text})
			}
		case *llm.Thinking:
			if p.options.Type != Anthropic || b.Signature == "" {
				continue
			}
			meta := &anthropic.ReasoningOptionMetadata{Signature: b.Signature}
			if b.Redacted {
				meta = &anthropic.ReasoningOptionMetadata{RedactedData: b.Signature}
			}
			parts = append(parts, fantasy.ReasoningPart{Text: b.Text, ProviderOptions: fantasy.ProviderOptions{anthropic.Name: meta}})
		case *llm.ToolCall:
			input := string(b.Arguments)
			if !json.Valid(b.Arguments) {
				input = "{}"
			}
			parts = append(parts, fantasy.ToolCallPart{ToolCallID: b.ID, ToolName: b.Name, Input: input})
		}
	}
	return parts
}

// toolOutput is a result in the library's form: an error, an image with its
// text, or text.
func toolOutput(m *llm.ToolResult) fantasy.ToolResultOutputContent {
	text := tool.TextOf(m.Content)
	if m.IsError {
		return fantasy.ToolResultOutputContentError{Error: errors.New(text)}
	}
	for _, block := range m.Content {
		if image, ok := block.(tool.Image); ok {
			return fantasy.ToolResultOutputContentMedia{
				Data: base64.StdEncoding.EncodeToString(image.Data), MediaType: image.MIMEType, Text: text,
			}
		}
	}
	return fantasy.ToolResultOutputContentText{Text: text}
}

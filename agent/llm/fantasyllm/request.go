package fantasyllm

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// call turns a request into the library's form.
func (p *provider) call(req llm.Request) (fantasy.Call, error) {
	c := fantasy.Call{MaxOutputTokens: &p.options.MaxOutput, UserAgent: "piremote"}
	if err := p.think(&c, req.Thinking); err != nil {
		return c, err
	}
	if req.System != "" {
		system := fantasy.NewSystemMessage(req.System)
		system.ProviderOptions = p.cached()
		c.Prompt = append(c.Prompt, system)
	}
	var images []fantasy.MessagePart // of the results of a batch, for the wires that need them apart
	for i, m := range req.Messages {
		switch m := m.(type) {
		case *llm.User:
			c.Prompt = append(c.Prompt, fantasy.Message{Role: fantasy.MessageRoleUser, Content: p.userParts(m)})
		case *llm.Assistant:
			if parts := p.assistantParts(m); len(parts) > 0 {
				c.Prompt = append(c.Prompt, fantasy.Message{Role: fantasy.MessageRoleAssistant, Content: parts})
			}
		case *llm.ToolResult:
			output, apart := p.toolOutput(m)
			images = append(images, apart...)
			part := fantasy.ToolResultPart{ToolCallID: m.ToolCallID, Output: output}
			if n := len(c.Prompt); n > 0 && c.Prompt[n-1].Role == fantasy.MessageRoleTool {
				c.Prompt[n-1].Content = append(c.Prompt[n-1].Content, part)
			} else {
				c.Prompt = append(c.Prompt, fantasy.Message{Role: fantasy.MessageRoleTool, Content: []fantasy.MessagePart{part}})
			}
			if !followed(req.Messages, i) && len(images) > 0 {
				c.Prompt = append(c.Prompt, fantasy.Message{Role: fantasy.MessageRoleUser, Content: images})
				images = nil
			}
		}
	}
	// The conversation so far is what the next request repeats.
	if n := len(c.Prompt); n > 0 && c.Prompt[n-1].Role != fantasy.MessageRoleAssistant {
		c.Prompt[n-1].ProviderOptions = p.cached()
	}
	for _, d := range req.Tools {
		schema, err := inputSchema(d)
		if err != nil {
			return c, err
		}
		c.Tools = append(c.Tools, fantasy.FunctionTool{Name: d.Name, Description: d.Description, InputSchema: schema})
	}
	return c, nil
}

// cached marks the end of what the provider may keep for the next request. Only
// Anthropic needs to be told, also behind OpenRouter.
func (p *provider) cached() fantasy.ProviderOptions {
	routed := p.options.Type == OpenRouter && strings.HasPrefix(p.options.Model, "anthropic/")
	if p.options.Type != Anthropic && !routed {
		return nil
	}
	return fantasy.ProviderOptions{anthropic.Name: &anthropic.ProviderCacheControlOptions{
		CacheControl: anthropic.CacheControl{Type: "ephemeral"},
	}}
}

// inputSchema decodes a schema as the library wants it: it takes "required" only
// as strings.
func inputSchema(d tool.Declaration) (map[string]any, error) {
	schema := map[string]any{"type": "object", "properties": map[string]any{}}
	if len(d.Parameters) > 0 {
		clear(schema)
		if err := json.Unmarshal(d.Parameters, &schema); err != nil {
			return nil, fmt.Errorf("schema of tool %s: %w", d.Name, err)
		}
	}
	if list, ok := schema["required"].([]any); ok {
		required := []string{}
		for _, item := range list {
			if name, ok := item.(string); ok {
				required = append(required, name)
			}
		}
		schema["required"] = required
	}
	return schema, nil
}

// blind reports whether the catalogue says that the model sees no images.
func (p *provider) blind() bool { return p.known.ID != "" && !p.known.Vision }

// omitted stands for an image that a model can't see.
func omitted(i tool.Image) string {
	return fmt.Sprintf("[image %s, %d bytes: left out, this model sees no images]", i.MIMEType, len(i.Data))
}

func (p *provider) userParts(m *llm.User) []fantasy.MessagePart {
	var parts []fantasy.MessagePart
	for _, block := range m.Content {
		switch b := block.(type) {
		case tool.Text:
			parts = append(parts, fantasy.TextPart{Text: b.Text})
		case tool.Image:
			if p.blind() {
				parts = append(parts, fantasy.TextPart{Text: omitted(b)})
			} else {
				parts = append(parts, fantasy.FilePart{Data: b.Data, MediaType: b.MIMEType})
			}
		}
	}
	return parts
}

// assistantParts repeats an answer to the provider. Thinking goes back only with
// the seal of the provider that is asked, and but for Anthropic's of the very model
// that is asked; calls whose arguments were cut go back as
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
			if b.Signature == "" || m.Provider != p.options.Provider || p.options.Type != Anthropic && m.Model != p.options.Model {
				continue
			}
			if sealed := unsealed(b, p.options.Type); sealed != nil {
				parts = append(parts, fantasy.ReasoningPart{Text: b.Text, ProviderOptions: sealed})
			}
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

// followed reports whether another result of the batch follows message i.
func followed(messages []llm.Message, i int) bool {
	if i+1 >= len(messages) {
		return false
	}
	_, ok := messages[i+1].(*llm.ToolResult)
	return ok
}

// toolOutput is a result in the library's form: an error, an image with its
// text, or text. Anthropic's wire carries an image in a result, and the library
// one of them. The others carry text only: there the images go apart, into a
// message of the user's behind the whole batch, since results must follow their
// calls without a gap.
func (p *provider) toolOutput(m *llm.ToolResult) (output fantasy.ToolResultOutputContent, apart []fantasy.MessagePart) {
	var images []tool.Image
	text := tool.TextOf(m.Content)
	say := func(format string, args ...any) {
		if text != "" {
			text += "\n"
		}
		text += fmt.Sprintf(format, args...)
	}
	for _, block := range m.Content {
		image, ok := block.(tool.Image)
		switch {
		case !ok:
		case p.blind():
			say("%s", omitted(image))
		case p.options.Type == Anthropic && (m.IsError || len(images) > 0):
			say("[image %s, %d bytes: left out, a result carries one image, and an error none]", image.MIMEType, len(image.Data))
		default:
			images = append(images, image)
		}
	}
	if p.options.Type == Anthropic && len(images) > 0 {
		return fantasy.ToolResultOutputContentMedia{
			Data: base64.StdEncoding.EncodeToString(images[0].Data), MediaType: images[0].MIMEType, Text: text,
		}, nil
	}
	for _, image := range images {
		say("[image %s, %d bytes: it follows the results]", image.MIMEType, len(image.Data))
		apart = append(apart, fantasy.TextPart{Text: fmt.Sprintf("An image of the result of %s, call %s:", m.ToolName, m.ToolCallID)},
			fantasy.FilePart{Data: image.Data, MediaType: image.MIMEType})
	}
	if m.IsError {
		return fantasy.ToolResultOutputContentError{Error: errors.New(text)}, apart
	}
	return fantasy.ToolResultOutputContentText{Text: text}, apart
}

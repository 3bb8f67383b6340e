package fantasyllm

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// conversation has every kind of block.
func conversation() llm.Request {
	return llm.Request{
		System: "Be brief.",
		Tools: []tool.Declaration{{
			Name: "read", Description: "Reads.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
		}},
		Messages: []llm.Message{
			&llm.User{Content: []tool.Content{tool.Text{Text: "look"}, tool.Image{Data: []byte("png"), MIMEType: "image/png"}}},
			&llm.Assistant{Provider: "anthropic", Content: []llm.Block{
				&llm.Thinking{Text: "hm", Signature: "sig"}, &llm.Thinking{Signature: "data", Redacted: true}, &llm.Thinking{Text: "unsigned"},
				&llm.Text{Text: "I look."},
				&llm.ToolCall{ID: "1", Name: "read", Arguments: json.RawMessage(`{"path":"a"}`)},
				&llm.ToolCall{ID: "2", Name: "read", Arguments: json.RawMessage(`{"path":"cut`)},
				&llm.ToolCall{ID: "3", Name: "read", Arguments: json.RawMessage(`{}`)},
			}},
			&llm.ToolResult{ToolCallID: "1", ToolName: "read", Content: []tool.Content{
				tool.Text{Text: "a picture"}, tool.Image{Data: []byte("one"), MIMEType: "image/png"}, tool.Image{Data: []byte("two"), MIMEType: "image/gif"},
			}},
			&llm.ToolResult{ToolCallID: "2", ToolName: "read", IsError: true, Content: []tool.Content{tool.Text{Text: "not valid"}}},
			&llm.ToolResult{ToolCallID: "3", ToolName: "read", Content: []tool.Content{tool.Text{Text: "text"}}},
		},
	}
}

type object = map[string]any

func body(t *testing.T, s *server) string {
	t.Helper()
	if len(s.requests) == 0 {
		t.Fatal("nothing was asked")
	}
	text, err := json.MarshalIndent(s.requests[len(s.requests)-1].body, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnthropicRequest(t *testing.T) {
	s := serve(t, file(t, "anthropic/text.sse"))
	p := open(t, s, Options{Provider: "anthropic", Model: "claude-sonnet-4-5-20250929", APIKey: "secret", Headers: map[string]string{"X-Extra": "1"}})
	if _, _, err := ask(t, p, conversation()); err != nil {
		t.Fatal(err)
	}
	cache := object{"type": "ephemeral"}
	image := func(data, mime string) object {
		return object{"type": "image", "source": object{"type": "base64", "data": data, "media_type": mime}}
	}
	text := func(t string) object { return object{"type": "text", "text": t} }
	want := object{
		"model": "claude-sonnet-4-5-20250929", "max_tokens": 64000.0, "stream": true,
		"system": []any{object{"type": "text", "text": "Be brief.", "cache_control": cache}},
		"tools": []any{object{"name": "read", "description": "Reads.", "input_schema": object{
			"type": "object", "properties": object{"path": object{"type": "string"}}, "required": []any{"path"},
		}}},
		"messages": []any{
			object{"role": "user", "content": []any{text("look"), image("cG5n", "image/png")}},
			object{"role": "assistant", "content": []any{
				object{"type": "thinking", "thinking": "hm", "signature": "sig"},
				object{"type": "redacted_thinking", "data": "data"},
				text("I look."),
				object{"type": "tool_use", "id": "1", "name": "read", "input": object{"path": "a"}},
				object{"type": "tool_use", "id": "2", "name": "read", "input": object{}},
				object{"type": "tool_use", "id": "3", "name": "read", "input": object{}},
			}},
			object{"role": "user", "content": []any{
				object{"type": "tool_result", "tool_use_id": "1", "content": []any{
					image("b25l", "image/png"), text("a picture\n[image image/gif, 3 bytes: left out, a result carries one image, and an error none]"),
				}},
				object{"type": "tool_result", "tool_use_id": "2", "is_error": true, "content": []any{text("not valid")}},
				object{"type": "tool_result", "tool_use_id": "3", "content": []any{text("text")}, "cache_control": cache},
			}},
		},
	}
	if d := cmp.Diff(want, s.requests[0].body); d != "" {
		t.Error(d)
	}
	h := s.requests[0].header
	if h.Get("X-Api-Key") != "secret" || h.Get("X-Extra") != "1" || h.Get("Anthropic-Version") == "" {
		t.Errorf("%v", h)
	}
}

func TestOpenAIRequest(t *testing.T) {
	for _, wire := range []Type{OpenAI, OpenAICompatible} {
		s := serve(t, file(t, "openai/text.sse"))
		p := open(t, s, Options{Type: wire, APIKey: "secret", MaxOutput: 100})
		if _, _, err := ask(t, p, conversation()); err != nil {
			t.Fatal(err)
		}
		var roles []string
		messages, _ := s.requests[0].body["messages"].([]any)
		for _, m := range messages {
			o, _ := m.(object)
			line := o["role"].(string)
			if id, ok := o["tool_call_id"].(string); ok {
				line += " " + id
			}
			roles = append(roles, line)
		}
		if d := cmp.Diff([]string{"system", "user", "assistant", "tool 1", "tool 2", "tool 3", "user"}, roles); d != "" {
			// Results follow their calls without a gap; images come behind them.
			t.Errorf("%s: %s", wire, d)
		}
		text := body(t, s)
		for _, part := range []string{"data:image/png;base64,b25l", "data:image/gif;base64,dHdv", "An image of the result of read, call 1:", "data:image/png;base64,cG5n", `"required": [`, `"include_usage": true`} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the request lacks %s:\n%s", wire, part, text)
			}
		}
		if strings.Contains(text, "unsigned") || strings.Contains(text, `"sig"`) {
			t.Errorf("%s: thinking of another provider was sent", wire)
		}
		if got := s.requests[0].header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("%s: %q", wire, got)
		}
	}
}

// Keys and headers of the environment belong to other addresses.
func TestEnvironmentIsNotSent(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "leak", "ANTHROPIC_AUTH_TOKEN": "leak", "ANTHROPIC_CUSTOM_HEADERS": "X-Custom: leak", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
		"OPENAI_API_KEY": "leak", "OPENAI_ORG_ID": "leak", "OPENAI_PROJECT_ID": "leak", "OPENAI_CUSTOM_HEADERS": "X-Custom: leak",
		"OPENAI_ADMIN_KEY": "leak", "OPENAI_BASE_URL": "http://127.0.0.1:1",
	} {
		t.Setenv(name, value)
	}
	for wire, name := range map[Type]string{Anthropic: "anthropic/text.sse", OpenAI: "openai/text.sse", OpenAICompatible: "openai/text.sse"} {
		s := serve(t, file(t, name))
		if _, _, err := ask(t, open(t, s, Options{Type: wire}), llm.Request{}); err != nil {
			t.Errorf("%s: %v", wire, err)
			continue
		}
		for header, values := range s.requests[0].header {
			if strings.Contains(strings.Join(values, " "), "leak") || header == "Authorization" || header == "X-Api-Key" {
				t.Errorf("%s sends %s: %v", wire, header, values)
			}
		}
	}
}

// anyText answers on the wire that is asked, told by its path.
func anyText(t *testing.T) http.HandlerFunc {
	t.Helper()
	anthropic, responses, google, chat := file(t, "anthropic/text.sse"), file(t, "responses/text.sse"), file(t, "google/text.sse"), file(t, "openai/text.sse")
	return func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/messages"):
			anthropic(w, r)
		case strings.HasSuffix(path, "/responses"):
			responses(w, r)
		case strings.HasSuffix(path, ":streamGenerateContent"):
			google(w, r)
		case strings.HasSuffix(path, "/chat/completions"):
			chat(w, r)
		default:
			t.Errorf("asked %s", path)
		}
	}
}

func TestThinkingLevels(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		level   string
		want    string // in the request
		not     string
		fails   bool
	}{
		{"budget", Options{Provider: "anthropic", Model: "claude-sonnet-4-5-20250929"}, "low", `"budget_tokens": 4096`, "", false},
		{"effort", Options{Provider: "anthropic", Model: "claude-sonnet-5"}, "xhigh", `"effort": "xhigh"`, "budget_tokens", false},
		{"none", Options{Provider: "anthropic", Model: "claude-sonnet-4-5-20250929"}, "", "", "thinking", false},
		{"off", Options{Provider: "anthropic", Model: "claude-sonnet-4-5-20250929"}, "off", "", "thinking", false},
		{"unknown level of model", Options{Provider: "anthropic", Model: "claude-opus-4-5-20251101"}, "max", "", "", true},
		{"unknown level", Options{Type: Anthropic, Provider: "x", Model: "x"}, "huge", "", "", true},
		{"openai", Options{Type: OpenAI, Provider: "openai", Model: "o3"}, "high", `"effort": "high"`, "reasoning_effort", false},
		{"openai, chat", Options{Type: OpenAI, Provider: "openai", Model: "x"}, "high", `"reasoning_effort": "high"`, "", false},
		{"openai, off", Options{Provider: "openai", Model: "gpt-5.6-sol"}, "off", `"effort": "none"`, "", false},
		{"google, level", Options{Provider: "gemini", Model: "gemini-3-flash-preview"}, "minimal", `"thinkingLevel": "MINIMAL"`, "thinkingBudget", false},
		{"google, budget", Options{Provider: "gemini", Model: "gemini-2.5-pro"}, "low", `"thinkingBudget": 4096`, "thinkingLevel", false},
		{"google, thoughts", Options{Provider: "gemini", Model: "gemini-2.5-pro"}, "low", `"includeThoughts": true`, "", false},
		{"google, left alone", Options{Provider: "gemini", Model: "gemini-2.5-pro"}, "", "", "thinkingConfig", false},
		{"openrouter", Options{Provider: "openrouter", Model: "anthropic/claude-sonnet-4.5"}, "high", `"effort": "high"`, "", false},
		{"does not reason", Options{Type: OpenAI, Provider: "openai", Model: "gpt-4o"}, "high", "", "reasoning", false},
		{"compatible", Options{Type: OpenAICompatible, Provider: "x", Model: "x"}, "medium", `"reasoning_effort": "medium"`, "", false},
		{"a small answer", Options{Type: Anthropic, Provider: "x", Model: "x", MaxOutput: 1500}, "high", "", "thinking", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, anyText(t))
			_, _, err := ask(t, open(t, s, c.options), llm.Request{Thinking: c.level})
			if c.fails {
				if err == nil || len(s.requests) != 0 {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text := body(t, s)
			if !strings.Contains(text, c.want) || c.not != "" && strings.Contains(text, c.not) {
				t.Errorf("want %s, not %s:\n%s", c.want, c.not, text)
			}
		})
	}
}

func TestModelsThatSeeNothing(t *testing.T) {
	s := serve(t, anyText(t))
	p := open(t, s, Options{Type: OpenAI, Provider: "openai", Model: "o3-mini"})
	if _, _, err := ask(t, p, conversation()); err != nil {
		t.Fatal(err)
	}
	if text := body(t, s); strings.Contains(text, "base64") || !strings.Contains(text, "[image image/png, 3 bytes: left out, this model sees no images]") {
		t.Error(text)
	}
}

func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Models() {
		if m.ID == "" || m.Provider == "" || seen[m.Provider+"/"+m.ID] {
			t.Errorf("%+v", m)
		}
		seen[m.Provider+"/"+m.ID] = true
		if m.CostIn < 0 || m.CostCacheRead > m.CostIn && m.CostIn > 0 {
			t.Errorf("%s/%s: reading the cache costs more than input: %+v", m.Provider, m.ID, m)
		}
	}
	if !seen["anthropic/claude-sonnet-4-5-20250929"] || !seen["openai/gpt-4o"] || !seen["groq/qwen/qwen3-32b"] {
		t.Error("a well-known model is missing")
	}
	for name, want := range map[string]string{"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "nobody": ""} {
		if got := KeyVariable(name); got != want {
			t.Errorf("key of %s: %q", name, got)
		}
	}
	m := find(entry("anthropic"), "claude-sonnet-4-5-20250929")
	if !m.Vision || !m.Reasoning || m.ContextWindow < 200000 || m.CostIn != 3 || m.CostOut != 15 || m.CostCacheRead != 0.3 || m.CostCacheWrite != 3.75 {
		t.Errorf("%+v", m)
	}
	// A provider of the catalogue needs no address and no wire.
	for provider, fails := range map[string]bool{"groq": false, "anthropic": false, "openai": false, "openrouter": false, "gemini": false, "bedrock": true, "nobody": true} {
		if _, err := Open(t.Context(), Options{Provider: provider, Model: "m"}); (err != nil) != fails {
			t.Errorf("%s: %v", provider, err)
		}
	}
	if _, err := Open(t.Context(), Options{Provider: "mine", Type: OpenAICompatible, Model: "m"}); err == nil {
		t.Error("an unknown provider needs no base URL")
	}
}

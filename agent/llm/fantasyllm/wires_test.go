package fantasyllm

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// wire is one that every scenario runs on. Its folder of testdata has text.sse,
// which says Hello, and thinking.sse, which thinks, speaks and calls read twice.
type wire struct {
	name    string
	options Options
	folder  string
	path    string // what is asked
	key     string // the header that carries the key
	seal    string // of the thinking in thinking.sse
}

var wires = []wire{
	{"anthropic", Options{Type: Anthropic, Provider: "anthropic", Model: "claude-sonnet-4-5-20250929"}, "anthropic", "/v1/messages", "X-Api-Key", "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"},
	{"responses", Options{Type: OpenAI, Provider: "openai", Model: "gpt-5"}, "responses", "/responses", "Authorization", ""},
	{"chat", Options{Type: OpenAICompatible, Provider: "mine", Model: "m"}, "openai", "/chat/completions", "Authorization", ""},
	{"google", Options{Type: Google, Provider: "gemini", Model: "gemini-2.5-pro"}, "google", "/v1beta/models/gemini-2.5-pro:streamGenerateContent", "X-Goog-Api-Key", "//79/A=="},
	{"openrouter", Options{Type: OpenRouter, Provider: "openrouter", Model: "anthropic/claude-sonnet-4.5"}, "openrouter", "/chat/completions", "Authorization", `{"anthropic":"EqQBCgIYAhIM1gbcDa9GJwZA2b3h"}`},
}

// onEveryWire runs a scenario on each.
func onEveryWire(t *testing.T, scenario func(t *testing.T, w wire)) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) { scenario(t, w) })
	}
}

func (w wire) stream(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + w.folder + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// failed is the error of an answer, which has to be one of the provider's.
func failed(t *testing.T, m *llm.Assistant, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) || m != nil && m.StopReason != "" {
		t.Fatalf("%+v, %v", m, err)
	}
	return e
}

func TestAnswer(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		s := serve(t, sse(w.stream(t, "thinking.sse")))
		o := w.options
		o.APIKey, o.Headers = "the-secret-key", map[string]string{"X-Extra": "1"}
		m, events, err := ask(t, open(t, s, o), llm.Request{})
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		thought := ""
		for _, b := range m.Content {
			switch b := b.(type) {
			case *llm.Thinking:
				thought += b.Text
				if !b.Redacted && b.Signature != w.seal && b.Text != "" && w.name != "google" {
					t.Errorf("sealed %q, want %q", b.Signature, w.seal)
				}
			case *llm.Text:
				kinds = append(kinds, "text "+b.Text)
			case *llm.ToolCall:
				kinds = append(kinds, fmt.Sprintf("call %s %s", b.Name, b.Arguments))
			}
		}
		want := []string{"text I read é𝄞.", `call read {"path":"a"}`, `call read {"path":"b"}`}
		if w.name == "anthropic" {
			want = []string{"text I read it.", `call read {"path": "a.txt"}`}
		}
		if d := cmp.Diff(want, kinds); d != "" || strings.TrimSpace(thought) != "Let me look." || m.StopReason != llm.StopToolUse {
			t.Errorf("%s thinking %q, %s", m.StopReason, thought, d)
		}
		balanced(t, events)

		// 20 in, 30 out, 100 read, and what OpenRouter says was written
		known := find(entry(o.Provider), o.Model)
		usage := tool.Usage{Input: 20, Output: 30, CacheRead: 100}
		switch w.name {
		case "anthropic":
			usage = tool.Usage{Input: 25, Output: 89, CacheRead: 1000, CacheWrite: 200}
		case "openrouter":
			usage.CacheWrite = 50
		}
		cost := (float64(usage.Input)*known.CostIn + float64(usage.Output)*known.CostOut +
			float64(usage.CacheRead)*known.CostCacheRead + float64(usage.CacheWrite)*known.CostCacheWrite) / 1e6
		if w.name != "chat" && cost == 0 {
			t.Error("the catalogue has no price")
		}
		if math.Abs(m.Usage.Cost-cost) > 1e-12 {
			t.Errorf("costs %v, want %v", m.Usage.Cost, cost)
		}
		m.Usage.Cost = 0
		if m.Usage != usage {
			t.Errorf("%+v, want %+v", m.Usage, usage)
		}
		r := s.requests[0]
		if r.path != w.path || r.header.Get("X-Extra") != "1" || strings.TrimPrefix(r.header.Get(w.key), "Bearer ") != "the-secret-key" {
			t.Errorf("asked %s with %v", r.path, r.header)
		}
	})
}

// balanced checks that every block begins, then ends, once.
func balanced(t *testing.T, events []string) {
	t.Helper()
	open := map[string]string{}
	for _, e := range events {
		index, rest, _ := strings.Cut(e, " ")
		kind, _, _ := strings.Cut(rest, " ")
		block, step, ok := strings.Cut(kind, "_")
		switch {
		case !ok:
		case step == "start" && open[index] == "":
			open[index] = block
		case step == "delta" && open[index] == block:
		case step == "end" && open[index] == block:
			open[index] = "ended"
		default:
			t.Errorf("%s, but the block is %q", e, open[index])
		}
	}
	for index, state := range open {
		if state != "ended" {
			t.Errorf("block %s (%s) does not end", index, state)
		}
	}
}

// What an answer brings goes back as it came: thinking with its seal, calls with
// their arguments, results behind them.
func TestSealsGoBack(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		s := serve(t, sse(w.stream(t, "thinking.sse")))
		p := open(t, s, w.options)
		m, _, err := ask(t, p, llm.Request{})
		if err != nil {
			t.Fatal(err)
		}
		var messages []llm.Message
		messages = append(messages, llm.UserText("go", 1), m)
		for _, c := range m.ToolCalls() {
			messages = append(messages, &llm.ToolResult{ToolCallID: c.ID, ToolName: c.Name, Content: []tool.Content{tool.Text{Text: "result of " + c.ID}}})
		}
		if _, _, err := ask(t, p, llm.Request{Messages: messages}); err != nil {
			t.Fatal(err)
		}
		text := body(t, s)
		sealed := map[string]string{
			"anthropic": `"signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"`, "google": `"thoughtSignature": "//79/A=="`, "openrouter": `"signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"`,
		}[w.name]
		parts := []string{sealed}
		for _, c := range m.ToolCalls() {
			parts = append(parts, c.ID, "result of "+c.ID)
		}
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("the request lacks %s:\n%s", part, text)
			}
		}
		// Another provider's thinking stays at home.
		other := *m
		other.Provider = "other"
		messages[1] = &other
		if _, _, err := ask(t, p, llm.Request{Messages: messages}); err != nil {
			t.Fatal(err)
		}
		if text := body(t, s); sealed != "" && strings.Contains(text, sealed) {
			t.Errorf("another provider's thinking was sent:\n%s", text)
		}
	})
}

// OpenRouter hands on the encrypted thinking of OpenAI's models.
func TestOpenRouterEncryptedThinking(t *testing.T) {
	s := serve(t, file(t, "openrouter/encrypted.sse"))
	p := open(t, s, Options{Type: OpenRouter, Model: "openai/gpt-5"})
	m, _, err := ask(t, p, llm.Request{})
	if err != nil || m.Text() != "I see." {
		t.Fatalf("%+v, %v", m, err)
	}
	if _, _, err := ask(t, p, llm.Request{Messages: []llm.Message{llm.UserText("go", 1), m, llm.UserText("on", 2)}}); err != nil {
		t.Fatal(err)
	}
	text := body(t, s)
	for _, part := range []string{`"data": "gAAAA"`, `"id": "rs_1"`, `"summary": "Let me look."`} {
		if !strings.Contains(text, part) {
			t.Errorf("the request lacks %s:\n%s", part, text)
		}
	}
}

func TestImages(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		s := serve(t, sse(w.stream(t, "text.sse")))
		if _, _, err := ask(t, open(t, s, w.options), conversation()); err != nil {
			t.Fatal(err)
		}
		text := body(t, s)
		for _, image := range []string{"png", "one"} { // of the user, of a result
			if !strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(image))) {
				t.Errorf("image %s is missing:\n%s", image, text)
			}
		}
	})
}

// The markers stand where Anthropic looks for them: behind what is the same in
// every request, and behind the conversation so far.
func TestCacheMarkers(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		s := serve(t, sse(w.stream(t, "text.sse")))
		if _, _, err := ask(t, open(t, s, w.options), conversation()); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"anthropic": 2, "openrouter": 2}[w.name]
		if got := strings.Count(body(t, s), `"cache_control"`); got != want {
			t.Errorf("%d markers, want %d:\n%s", got, want, body(t, s))
		}
	})
}

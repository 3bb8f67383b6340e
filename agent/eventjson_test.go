package agent_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// Whatever a tool, a model or a file says, an event is one line of valid UTF-8
// that no peer splits, and that reads back as what was said.
func TestEVNT07EventsAreOneLine(t *testing.T) {
	const nasty = "a\nb\r\nc\u2028d\u2029e\x00f\u0085g\x1b]52;c;\ah"
	large := strings.Repeat("x", 1<<20+1)
	for name, text := range map[string]string{"separators": nasty, "not UTF-8": "a\xff\xfeb", "over 1 MiB": large} {
		args, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		raw := json.RawMessage("{\"text\":\n\t\"a\u2028b\u2029c\"}") // as a model may spell it
		partial := tool.Result{Content: []tool.Content{tool.Text{Text: text}}, Details: map[string]string{"text": text}}
		answer := &llm.Assistant{Content: []llm.Block{
			&llm.Text{Text: text}, &llm.Thinking{Text: text, Signature: text}, &llm.ToolCall{ID: "1", Name: text, Arguments: raw},
			&llm.ToolCall{ID: "2", Name: "cut", Arguments: json.RawMessage(`{"text":"` + text)},
		}, StopReason: llm.StopError, ErrorMessage: text}
		result := &llm.ToolResult{ToolCallID: "1", ToolName: text, Content: partial.Content, Details: partial.Details}
		for _, e := range []agent.Event{
			agent.AgentStart{},
			agent.AgentEnd{Messages: []llm.Message{llm.UserText(text, 1), answer, result}, Reason: agent.StopError},
			agent.TurnStart{},
			agent.TurnEnd{Message: answer, ToolResults: []*llm.ToolResult{result}},
			agent.MessageStart{Message: llm.UserText(text, 1)},
			agent.MessageUpdate{Message: answer, Stream: llm.StreamEvent{Kind: llm.StreamTextDelta, Delta: text}},
			agent.MessageEnd{Message: answer},
			agent.ToolExecutionStart{ToolCallID: "1", ToolName: text, Args: raw},
			agent.ToolExecutionStart{ToolCallID: "1", ToolName: text, Args: args},
			agent.ToolExecutionUpdate{ToolCallID: "1", ToolName: text, Args: args, Partial: partial},
			agent.ToolExecutionEnd{ToolCallID: "1", ToolName: text, Result: partial, EffectiveArgs: raw},
		} {
			line, err := agent.EventJSON(e)
			if err != nil {
				t.Errorf("%s: %T: %v", name, e, err)
				continue
			}
			for _, separator := range []string{"\n", "\r", "\x00", "\u2028", "\u2029"} {
				if bytes.Contains(line, []byte(separator)) {
					t.Errorf("%s: %T has the separator %q: %.200q", name, e, separator, line)
				}
			}
			var back map[string]any
			if err := json.Unmarshal(line, &back); err != nil {
				t.Errorf("%s: %T: %v", name, e, err)
			}
			if u, ok := e.(agent.MessageUpdate); ok {
				stream, _ := back["assistantMessageEvent"].(map[string]any)
				if want := strings.ToValidUTF8(u.Stream.Delta, "\ufffd"); stream["delta"] != want && name != "not UTF-8" {
					t.Errorf("%s: %.100q came back as %.100q", name, want, stream["delta"])
				}
			}
		}
	}
}

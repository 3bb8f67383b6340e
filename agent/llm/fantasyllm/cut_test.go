package fantasyllm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// part answers with the first n bytes of a stream; then the body ends properly,
// or the connection breaks.
func part(stream []byte, n int, breaks bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(stream[:n])
		if breaks {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
}

// However little is missing, a cut stream is an error that is worth a new
// attempt, what came is kept, and no event tells of a call that is not whole.
// The whole stream is what makes the test's oracle.
func TestPROV01CutAnywhere(t *testing.T) {
	for _, c := range []struct{ name, last string }{
		{"anthropic/thinking.sse", `"type": "message_stop"`},
		{"anthropic/parallel.sse", `"type": "message_stop"`},
		{"openai/parallel.sse", `"finish_reason": "tool_calls"`}, // what follows is the usage alone
		{"openai/text.sse", `"finish_reason": "stop"`},
		{"responses/thinking.sse", `"type":"response.completed"`},
		{"google/thinking.sse", `"finishReason":"STOP"`},
		{"openrouter/thinking.sse", `"finish_reason":"tool_calls"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			stream, err := os.ReadFile("testdata/" + c.name)
			if err != nil {
				t.Fatal(err)
			}
			s := serve(t, file(t, c.name))
			p := open(t, s, wireOf(c.name))
			whole, _, err := ask(t, p, llm.Request{})
			if err != nil {
				t.Fatal(err)
			}
			wholeCalls := map[string]bool{}
			for _, call := range calls(whole) {
				wholeCalls[call] = true
			}
			end := bytes.Index(stream, []byte(c.last))
			if end < 0 {
				t.Fatalf("there is no %s", c.last)
			}
			// Behind events, within their lines, and within the last of them.
			var cuts []int
			for i := 0; i < end; i += 97 {
				cuts = append(cuts, i)
			}
			for i := 0; ; {
				j := bytes.Index(stream[i:end], []byte("\n\n"))
				if j < 0 {
					break
				}
				i += j + 2
				cuts = append(cuts, i-1, i)
			}
			for _, n := range append(cuts, end, end+len(c.last)-1) {
				for _, breaks := range []bool{false, true} {
					s.handler = part(stream, n, breaks)
					var ended []string
					m, err := p.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("go", 1)}}, func(e llm.StreamEvent) {
						if e.Kind == llm.StreamToolCallEnd {
							ended = append(ended, fmt.Sprintf("%s %s %s", e.ToolCall.ID, e.ToolCall.Name, e.ToolCall.Arguments))
						}
					})
					var e *llm.Error
					if !errors.As(err, &e) || e.Kind != llm.ErrTruncated && e.Kind != llm.ErrNetwork {
						t.Errorf("cut at %d of %d, connection breaks %v: %+v, %v", n, len(stream), breaks, m, err)
						continue
					}
					if m != nil && (m.StopReason != "" || !strings.HasPrefix(whole.Text(), m.Text())) {
						t.Errorf("cut at %d: %+v", n, m)
					}
					for _, call := range ended {
						if !wholeCalls[call] {
							t.Errorf("cut at %d: told of %s, which is not whole", n, call)
						}
					}
				}
			}
		})
	}
}

// What one answer brings goes back with the next request, sealed as it came.
func TestThinkingIsSentBack(t *testing.T) {
	s := serve(t, file(t, "anthropic/thinking.sse"))
	p := open(t, s, Options{Type: Anthropic})
	m, _, err := ask(t, p, llm.Request{})
	if err != nil {
		t.Fatal(err)
	}
	s.handler = file(t, "anthropic/text.sse")
	if _, _, err = ask(t, p, llm.Request{Messages: []llm.Message{
		llm.UserText("go", 1), m,
		&llm.ToolResult{ToolCallID: "toolu_1", ToolName: "read", Content: []tool.Content{tool.Text{Text: "gone"}}, IsError: true},
	}}); err != nil {
		t.Fatal(err)
	}
	messages, _ := s.requests[1].body["messages"].([]any)
	if d := cmp.Diff([]any{
		object{"role": "user", "content": []any{object{"type": "text", "text": "go"}}},
		object{"role": "assistant", "content": []any{
			object{"type": "thinking", "thinking": "Let me look.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"},
			object{"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"},
			object{"type": "text", "text": "I read it."},
			object{"type": "tool_use", "id": "toolu_1", "name": "read", "input": object{"path": "a.txt"}},
		}},
		object{"role": "user", "content": []any{object{
			"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": []any{object{"type": "text", "text": "gone"}},
			"cache_control": object{"type": "ephemeral"},
		}}},
	}, messages); d != "" {
		t.Error(d)
	}
}

// An abort is over at once, here and at the server: nobody pays for an answer
// that nobody hears.
func TestAbortEndsTheRequest(t *testing.T) {
	for wire, name := range map[Type]string{Anthropic: "anthropic/text.sse", OpenAICompatible: "openai/text.sse"} {
		t.Run(string(wire), func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write(data[:len(data)*2/3])
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var start time.Time
			m, err := open(t, s, Options{Type: wire}).Stream(ctx, llm.Request{Messages: []llm.Message{llm.UserText("go", 1)}}, func(e llm.StreamEvent) {
				if e.Kind == llm.StreamTextDelta {
					start = time.Now()
					cancel()
				}
			})
			if took := time.Since(start); !errors.Is(err, context.Canceled) || took > 30*time.Second {
				t.Errorf("%v after %v", err, took)
			}
			if m == nil || m.Text() == "" || m.StopReason != "" {
				t.Errorf("what came is lost: %+v", m)
			}
			select {
			case <-ended:
			case <-time.After(5 * time.Second):
				t.Error("the server still waits")
			}
		})
	}
}

// One line of 2 MB, and characters that are split between writes, come intact
// on Anthropic's wire too.
func TestPROV06LargeAnthropicEvent(t *testing.T) {
	stream, err := os.ReadFile("testdata/anthropic/thinking.sse")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1000, 2 << 20} {
		arguments, err := json.Marshal(map[string]string{"content": strings.Repeat("a\"é𝄞\n", size/9)})
		if err != nil {
			t.Fatal(err)
		}
		piece, err := json.Marshal(string(arguments))
		if err != nil {
			t.Fatal(err)
		}
		first, second := `"{\"path\": "`, `"\"a.txt\"}"`
		body := strings.Replace(strings.Replace(string(stream), first, string(piece), 1), second, `""`, 1)
		step := len(body)
		if size < 10000 {
			step = 1 // each byte in a write of its own
		}
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := 0; i < len(body); i += step {
				_, _ = io.WriteString(w, body[i:min(len(body), i+step)])
				_ = http.NewResponseController(w).Flush()
			}
		})
		m, _, err := ask(t, open(t, s, Options{Type: Anthropic}), llm.Request{})
		if err != nil || len(m.ToolCalls()) != 1 || !bytes.Equal(m.ToolCalls()[0].Arguments, arguments) || m.StopReason != llm.StopToolUse {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// Calls of one provider may overlap.
func TestConcurrentRequests(t *testing.T) {
	p := open(t, serve(t, file(t, "openai/parallel.sse")), Options{Type: OpenAICompatible})
	errs := make(chan error)
	for range 8 {
		go func() {
			m, err := p.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("go", 1)}}, func(llm.StreamEvent) {})
			if err == nil && (len(m.ToolCalls()) != 2 || m.StopReason != llm.StopToolUse) {
				err = fmt.Errorf("%+v", m)
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

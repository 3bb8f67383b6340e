package fantasyllm

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent/llm"
)

// Servers of chat completions tell calls apart in many ways, or not at all. Each
// call keeps its own arguments, runs once, and has an id of its own; where that
// can't be, nothing runs.
func TestPROV03Calls(t *testing.T) {
	const a, b = `{"path":"a"}`, `{"path":"b"}`
	quoted := func(s string) string { return encode(s) }
	for name, c := range map[string]struct {
		deltas []string // the items of tool_calls, a chunk each
		want   []string
	}{
		"one index, two ids": {[]string{
			`{"index":0,"id":"A","type":"function","function":{"name":"read","arguments":` + quoted(a) + `}}`,
			`{"index":0,"id":"B","type":"function","function":{"name":"read","arguments":` + quoted(b) + `}}`,
		}, []string{"A read " + a, "B read " + b}},
		"one index, in pieces": {[]string{
			`{"index":0,"id":"A","type":"function","function":{"name":"read","arguments":"{\"path\":"}}`, `{"index":0,"function":{"arguments":"\"a\"}"}}`,
			`{"index":0,"id":"B","type":"function","function":{"name":"read","arguments":"{\"path\":"}}`, `{"index":0,"function":{"arguments":"\"b\"}"}}`,
		}, []string{"A read " + a, "B read " + b}},
		"the id in every piece": {[]string{
			`{"index":0,"id":"A","type":"function","function":{"name":"read","arguments":"{\"path\":"}}`, `{"index":0,"id":"A","function":{"name":"","arguments":"\"a\"}"}}`,
		}, []string{"A read " + a}},
		"no index, ids in every piece": {[]string{
			`{"id":"A","type":"function","function":{"name":"read","arguments":"{\"path\":"}}`, `{"id":"B","type":"function","function":{"name":"read","arguments":"{\"path\":"}}`,
			`{"id":"A","function":{"arguments":"\"a\"}"}}`, `{"id":"B","function":{"arguments":"\"b\"}"}}`,
		}, []string{"A read " + a, "B read " + b}},
		"neither index nor id in later pieces": {[]string{
			`{"index":0,"id":"A","type":"function","function":{"name":"read","arguments":` + quoted(a) + `}}`,
			`{"index":1,"id":"B","type":"function","function":{"name":"read","arguments":"{\"path\":"}}`, `{"function":{"arguments":"\"b\"}"}}`,
		}, []string{"A read " + a, "B read " + b}},
		"no id at all": {[]string{
			`{"function":{"name":"read","arguments":` + quoted(a) + `}}`, `{"function":{"name":"read","arguments":` + quoted(b) + `}}`,
		}, []string{"tool-call-0 read " + a, "tool-call-1 read " + b}},
		"one id for two calls": {[]string{
			`{"index":0,"id":"A","type":"function","function":{"name":"read","arguments":"{\"path\":"}}`,
			`{"index":1,"id":"A","type":"function","function":{"name":"read","arguments":"{\"path\":"}}`,
			`{"index":0,"function":{"arguments":"\"a\"}"}}`, `{"index":1,"function":{"arguments":"\"b\"}"}}`,
		}, []string{"A read " + a, "A_2 read " + b}},
		"indices that begin at 1": {[]string{
			`{"index":1,"id":"A","type":"function","function":{"name":"read","arguments":"{\"path\":"}}`, `{"index":1,"function":{"arguments":"\"a\"}"}}`,
		}, []string{"A read " + a}},
		"an empty item": {[]string{
			`{"index":0,"id":"","function":{"name":"","arguments":""}}`, `{"index":0,"id":"A","type":"function","function":{"name":"read","arguments":` + quoted(a) + `}}`,
		}, []string{"A read " + a}},
	} {
		t.Run(name, func(t *testing.T) {
			var stream strings.Builder
			for _, d := range c.deltas {
				stream.WriteString(`data: {"id":"c","object":"chat.completion.chunk","error":null,"choices":[{"index":0,"delta":{"tool_calls":[` + d + `]},"finish_reason":null}]}` + "\n\n")
			}
			end := `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n"
			for _, o := range []Options{{Type: OpenAICompatible}, {Type: OpenAI}, {Type: OpenRouter}} {
				// The end may come twice.
				m, _, err := ask(t, open(t, serve(t, sse(stream.String()+end+end+"data: [DONE]\n\n")), o), llm.Request{})
				if err != nil || m.StopReason != llm.StopToolUse {
					t.Fatalf("%s: %v", o.Type, err)
				}
				if d := cmp.Diff(c.want, calls(m)); d != "" {
					t.Errorf("%s: %s", o.Type, d)
				}
				// Without it nothing is whole.
				m, _, err = ask(t, open(t, serve(t, sse(stream.String())), o), llm.Request{})
				if e := failed(t, m, err); e.Kind != llm.ErrTruncated {
					t.Errorf("%s, no end: %v", o.Type, err)
				}
			}
		})
	}
}

// An event of another shape than the wire's is an error, never a panic or half an
// answer.
func TestEventsOfOtherShapes(t *testing.T) {
	onEveryWire(t, func(t *testing.T, w wire) {
		s := serve(t, nil)
		p := open(t, s, w.options)
		for _, event := range []string{
			`null`, `[]`, `7`, `"text"`, `{}`, `{"choices":null}`, `{"choices":[{}]}`, `{"choices":[{"delta":{"tool_calls":[null,{"index":"x"}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}`, `{"candidates":[{"content":null}]}`, `{"candidates":"x"}`, `{"usageMetadata":[]}`,
			`{"type":"response.completed"}`, `{"type":"response.output_item.done","item":{"type":"function_call"}}`, `{"type":"response.failed"}`, `{"type":"error"}`, `{"error":"text"}`, `{"error":{}}`,
			`{"type":"content_block_delta","index":9,"delta":{"type":"text_delta"}}`, `{"type":"content_block_start"}`, `{"type":"message_stop"}`,
		} {
			s.handler = sse("data: " + event + "\n\n")
			m, _, err := ask(t, p, llm.Request{})
			var e *llm.Error
			// A bare end is an empty answer on two wires.
			if !errors.As(err, &e) && (m == nil || len(m.Content) > 0) {
				t.Errorf("%s: %+v, %v", event, m, err)
			}
		}
	})
}

package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/piremote/piremote/tools/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func record(events *[]string) func(StreamEvent) {
	return func(e StreamEvent) {
		*events = append(*events, strings.TrimSpace(fmt.Sprintf("%d %s %s%s", e.ContentIndex, e.Kind, e.Delta, e.Content)))
	}
}

func TestBuilderInterleavedBlocks(t *testing.T) {
	var events []string
	b := NewBuilder("p", "m", 5, record(&events))
	b.Thinking("0", "hm")
	b.Text("0", "a") // the same key names another kind of block
	b.ToolCallStart("0", "A", "read")
	b.ToolCallStart("1", "B", "ls")
	b.ToolCallDelta("1", `{"x":`)
	b.ToolCallDelta("0", `{"y":1}`)
	b.Text("0", "b")
	b.ToolCallDelta("1", `2}`)
	b.ThinkingEnd("0", "seal", false)
	b.TextEnd("0")
	b.ToolCallEnd("1", "")
	if !b.Open() {
		t.Error("a call is still open")
	}
	b.ToolCallEnd("0", "")
	b.ToolCallDelta("0", "late") // closed blocks stay as they are
	b.TextEnd("0")
	b.ToolCallEnd("nobody", "{}")
	if b.Open() {
		t.Error("nothing is open")
	}
	want := &Assistant{Provider: "p", Model: "m", Timestamp: 5, Content: []Block{
		&Thinking{Text: "hm", Signature: "seal"}, &Text{Text: "ab"},
		&ToolCall{ID: "A", Name: "read", Arguments: json.RawMessage(`{"y":1}`)},
		&ToolCall{ID: "B", Name: "ls", Arguments: json.RawMessage(`{"x":2}`)},
	}}
	if d := cmp.Diff(want, b.Message()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{
		"0 start", "0 thinking_start", "0 thinking_delta hm", "1 text_start", "1 text_delta a", "2 toolcall_start", "3 toolcall_start",
		`3 toolcall_delta {"x":`, `2 toolcall_delta {"y":1}`, "1 text_delta b", "3 toolcall_delta 2}",
		"0 thinking_end hm", "1 text_end ab", "3 toolcall_end", "2 toolcall_end",
	}, events); d != "" {
		t.Error(d)
	}
}

func TestPROV03IDsAreUnique(t *testing.T) {
	b := NewBuilder("p", "m", 0, func(StreamEvent) {})
	for i, id := range []string{"A", "A", "", "", "A", "A_2"} {
		b.ToolCallStart(fmt.Sprint(i), id, "read")
		b.ToolCallEnd(fmt.Sprint(i), "")
	}
	seen := map[string]bool{}
	for _, c := range b.Message().ToolCalls() {
		if c.ID == "" || seen[c.ID] {
			t.Errorf("the id %q is not unique", c.ID)
		}
		seen[c.ID] = true
	}
	if !seen["A"] || len(seen) != 6 {
		t.Errorf("%v", seen)
	}
}

// A cut call keeps what came; the empty one becomes {} only when it has ended
// (hazard PROV-01).
func TestPROV01CutCallsStayCut(t *testing.T) {
	b := NewBuilder("p", "m", 0, func(StreamEvent) {})
	b.ToolCallStart("0", "A", "write")
	b.ToolCallDelta("0", `{"content":"half`)
	b.ToolCallStart("1", "B", "ls")
	calls := b.Message().ToolCalls()
	if string(calls[0].Arguments) != `{"content":"half` || len(calls[1].Arguments) != 0 {
		t.Errorf("%s, %s", calls[0].Arguments, calls[1].Arguments)
	}
	b.ToolCallEnd("1", "")
	b.ToolCallEnd("0", `{"content":"whole"}`)
	calls = b.Message().ToolCalls()
	if string(calls[0].Arguments) != `{"content":"whole"}` || string(calls[1].Arguments) != "{}" {
		t.Errorf("%s, %s", calls[0].Arguments, calls[1].Arguments)
	}
}

// What listeners were given does not change under them.
func TestPartialsAreSnapshots(t *testing.T) {
	type snapshot struct {
		partial *Assistant
		text    string
	}
	var taken []snapshot
	marshal := func(m *Assistant) string {
		text, err := json.Marshal(m)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	b := NewBuilder("p", "m", 0, func(e StreamEvent) { taken = append(taken, snapshot{e.Partial, marshal(e.Partial)}) })
	b.Text("0", "a")
	b.Text("0", "b")
	b.ToolCallStart("1", "A", "read")
	b.ToolCallDelta("1", `{}`)
	b.ToolCallEnd("1", "")
	b.Thinking("2", "hm")
	b.Message().Usage.Input = 7
	for i, s := range taken {
		if now := marshal(s.partial); now != s.text {
			t.Errorf("event %d: was %s, is %s", i, s.text, now)
		}
	}
}

// The pieces that were emitted make up the message, in whatever order the
// blocks' pieces came.
func TestDeltasMakeTheMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got := map[int]string{}
		b := NewBuilder("p", "m", 0, func(e StreamEvent) { got[e.ContentIndex] += e.Delta })
		started := map[string]bool{}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			key := rapid.SampledFrom([]string{"0", "1", "2"}).Draw(t, "key")
			piece := rapid.StringN(0, 4, -1).Draw(t, "piece")
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0, 1:
				b.Text(key, piece)
			case 2:
				b.TextEnd(key)
			case 3:
				b.Thinking(key, piece)
			case 4:
				if !started[key] {
					b.ToolCallStart(key, key, "read")
				}
				started[key] = true
				b.ToolCallDelta(key, piece)
			case 5:
				b.ThinkingEnd(key, "seal", false)
			}
		}
		for i, block := range b.Message().Content {
			text := ""
			switch block := block.(type) {
			case *Text:
				text = block.Text
			case *Thinking:
				text = block.Text
			case *ToolCall:
				text = string(block.Arguments)
			}
			if text != got[i] {
				t.Errorf("block %d is %q, its pieces make %q", i, text, got[i])
			}
		}
	})
}

func TestMessagesAsJSON(t *testing.T) {
	for want, m := range map[string]Message{
		`{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":3}`: UserText("hi", 3),
		`{"role":"user","content":[],"timestamp":0}`:                            &User{},
		`{"role":"assistant","content":[` +
			`{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"text","text":"a"},` +
			`{"type":"toolCall","id":"1","name":"read","arguments":{"path":"a"}},` +
			`{"type":"toolCall","id":"2","name":"ls","arguments":{}},` +
			`{"type":"toolCall","id":"3","name":"write","arguments":"{\"path\":\"ha"}],` +
			`"api":"","provider":"p","model":"m","stopReason":"error","errorMessage":"cut",` +
			`"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.5}},"timestamp":9}`: &Assistant{
			Content: []Block{
				&Thinking{Text: "hm", Signature: "s"}, &Text{Text: "a"}, &ToolCall{ID: "1", Name: "read", Arguments: json.RawMessage(`{"path":"a"}`)},
				&ToolCall{ID: "2", Name: "ls"}, &ToolCall{ID: "3", Name: "write", Arguments: json.RawMessage(`{"path":"ha`)},
			},
			Provider: "p", Model: "m", StopReason: StopError, ErrorMessage: "cut", Timestamp: 9,
			Usage: tool.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Cost: 0.5},
		},
		`{"role":"toolResult","toolCallId":"1","toolName":"read","content":[{"type":"image","data":"cG5n","mimeType":"image/png"}],"isError":true,"timestamp":0}`: &ToolResult{
			ToolCallID: "1", ToolName: "read", IsError: true, Content: []tool.Content{tool.Image{Data: []byte("png"), MIMEType: "image/png"}},
		},
	} {
		got, err := json.Marshal(m)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v\nwant %s", got, err, want)
		}
	}
}

func TestErrorTextAndRetry(t *testing.T) {
	cause := errors.New("connection refused")
	for want, e := range map[string]*Error{
		"rate limit (HTTP 429): slow":    {Kind: ErrRateLimit, Status: 429, RetryAfter: time.Second, Message: "slow"},
		"network: connection refused":    {Kind: ErrNetwork, Err: cause},
		"truncated stream":               {Kind: ErrTruncated},
		"invalid request (HTTP 400): no": {Kind: ErrInvalid, Status: 400, Message: "no", Err: cause},
	} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e.Error(), want)
		}
		if e.Err != nil && !errors.Is(e, cause) {
			t.Errorf("%v: the cause is lost", e)
		}
	}
	for kind, retry := range map[ErrorKind]bool{
		ErrRateLimit: true, ErrOverloaded: true, ErrNetwork: true, ErrTruncated: true, ErrIdle: true, ErrServer: true,
		ErrAuth: false, ErrOverflow: false, ErrInvalid: false, ErrRefused: false, "another": false,
	} {
		if got := (&Error{Kind: kind}).Retryable(); got != retry {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

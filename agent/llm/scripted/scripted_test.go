package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t *testing.T, text string) *Script {
	t.Helper()
	s, err := Parse("demo.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func silent(llm.StreamEvent) {}

// after is a conversation that ends with these results.
func after(results ...*llm.ToolResult) llm.Request {
	req := llm.Request{Messages: []llm.Message{
		&llm.ToolResult{Content: []tool.Content{tool.Text{Text: "an older result"}}}, llm.UserText("go", 1), &llm.Assistant{},
	}}
	for _, r := range results {
		req.Messages = append(req.Messages, r)
	}
	return req
}

func result(text string, isError bool) *llm.ToolResult {
	return &llm.ToolResult{Content: []tool.Content{tool.Text{Text: text}}, IsError: isError}
}

func TestParseErrors(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing":     {"", []string{"demo.yaml", "no turns"}},
		"no turns":    {"turns: []\n", []string{"demo.yaml", "no turns"}},
		"no YAML":     {"turns:\n  - text: [a\n", []string{"demo.yaml", "line "}}, // the parser names where the list's context begins
		"unknown key": {"turns:\n  - text: a\n  - txt: b\n", []string{"demo.yaml", "line 3", "txt"}},
		"unknown key of a call": {
			"turns:\n  - toolCalls:\n      - name: a\n        args: {}\n", []string{"demo.yaml", "line 4", "args"},
		},
		"wrong type":       {"turns:\n  - text: a\n  - toolCalls: yes\n", []string{"demo.yaml", "line 3"}},
		"bad delay":        {"turns:\n  - text: a\n    delay: soon\n", []string{"demo.yaml", "line 3"}},
		"bad matches":      {"turns:\n  - text: a\n  - expect: [{matches: '('}]\n", []string{"demo.yaml", "turn 2"}},
		"bad capture":      {"turns:\n  - expect: [{capture: '(?P<x'}]\n", []string{"demo.yaml", "turn 1"}},
		"two documents":    {"turns:\n  - text: a\n---\nturns:\n  - text: b\n", []string{"demo.yaml", "one document"}},
		"no stop reason":   {"turns:\n  - {text: a, stopReason: done}\n", []string{"demo.yaml", "turn 1", "done"}},
		"error as a stop":  {"turns:\n  - {text: a, stopReason: error}\n", []string{"demo.yaml", "turn 1", "error"}},
		"both arguments":   {"turns:\n  - toolCalls: [{name: a, arguments: {}, rawArguments: '{}'}]\n", []string{"turn 1", "rawArguments"}},
		"no JSON argument": {"turns:\n  - toolCalls: [{name: a, arguments: {x: .inf}}]\n", []string{"turn 1", "no JSON"}},
		"unnamed call":     {"turns:\n  - text: a\n  - toolCalls: [{id: x}]\n", []string{"demo.yaml", "turn 2", "no name"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("demo.yaml", []byte(c.text))
			if err == nil {
				t.Fatalf("%+v", s)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
		})
	}
	if _, err := Parse("demo.json", []byte(`{"turns":[{"text":"a"}]}`)); err != nil {
		t.Errorf("JSON: %v", err)
	}
}

func TestAnswerIsStreamed(t *testing.T) {
	p := parse(t, `
turns:
  - thinking: Let me look.
    text: I look now.
    toolCalls:
      - name: read
        arguments: {path: a.txt, limit: 3, deep: {list: [1, true, null, x]}}
      - id: mine
        name: ls
    usage: {input: 5, output: 7, cost: 0.5}
`).Provider(nil)
	var kinds []string
	thinking, text, arguments := "", "", ""
	m, err := p.Stream(t.Context(), llm.Request{}, func(e llm.StreamEvent) {
		kinds = append(kinds, fmt.Sprintf("%d %s", e.ContentIndex, e.Kind))
		switch e.Kind {
		case llm.StreamThinkingDelta:
			thinking += e.Delta
		case llm.StreamTextDelta:
			text += e.Delta
		case llm.StreamToolCallDelta:
			arguments += e.Delta
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if thinking != "Let me look." || text != "I look now." || arguments != string(m.ToolCalls()[0].Arguments)+"{}" {
		t.Errorf("the pieces don't make the whole: %q %q %q", thinking, text, arguments)
	}
	if n := strings.Count(strings.Join(kinds, "\n"), "1 text_delta"); n != 3 {
		t.Errorf("%d pieces of text: %v", n, kinds)
	}
	var got, want any
	_ = json.Unmarshal(m.ToolCalls()[0].Arguments, &got)
	_ = json.Unmarshal([]byte(`{"path":"a.txt","limit":3,"deep":{"list":[1,true,null,"x"]}}`), &want)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if m.ToolCalls()[0].ID == "" || m.ToolCalls()[0].ID == "mine" || m.ToolCalls()[1].ID != "mine" || m.StopReason != llm.StopToolUse ||
		m.Usage != (tool.Usage{Input: 5, Output: 7, Cost: 0.5}) || m.Provider != "scripted" || m.Model != "demo.yaml" {
		t.Errorf("%+v", m)
	}
}

// A script can send what a model sends that was cut off.
func TestRawArguments(t *testing.T) {
	p := parse(t, "turns:\n  - toolCalls: [{name: write, rawArguments: '{\"path\":\"{{.dir}}/a\",\"content\":\"half'}]\n").
		Provider(map[string]string{"dir": "/srv"})
	m, err := p.Stream(t.Context(), llm.Request{}, silent)
	if err != nil || string(m.ToolCalls()[0].Arguments) != `{"path":"/srv/a","content":"half` {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestStopReasonAndError(t *testing.T) {
	p := parse(t, `
turns:
  - {text: half, stopReason: length}
  - {text: done}
  - {text: half, error: {kind: overloaded, status: 529, message: busy}}
  - {error: {message: oops}}
  - {error: {status: 429, retryAfter: 2s}}
  - {error: {status: 401}}
  - {error: {status: 500}}
`).Provider(nil)
	for i, want := range []struct {
		stop llm.StopReason
		err  *llm.Error
	}{
		{stop: llm.StopLength},
		{stop: llm.StopEnd},
		{err: &llm.Error{Kind: llm.ErrOverloaded, Status: 529, Message: "busy"}},
		{err: &llm.Error{Kind: llm.ErrInvalid, Message: "oops"}},
		{err: &llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: 2 * time.Second}},
		{err: &llm.Error{Kind: llm.ErrAuth, Status: 401}},
		{err: &llm.Error{Kind: llm.ErrServer, Status: 500}},
	} {
		m, err := p.Stream(t.Context(), llm.Request{}, silent)
		var e *llm.Error
		errors.As(err, &e)
		if d := cmp.Diff(want.err, e); d != "" || m == nil || m.StopReason != want.stop {
			t.Errorf("turn %d: %+v, %v\n%s", i+1, m, err, d)
		}
		if i == 2 && m.Text() != "half" {
			t.Errorf("what came before the error is lost: %+v", m)
		}
	}
}

func TestTemplatesAndCaptures(t *testing.T) {
	s := parse(t, `
turns:
  - text: "in {{.dir}}"
    toolCalls: [{name: bash, arguments: {command: "cd {{.dir}}", list: ["{{.dir}}/a"]}}]
  - expect:
      - {contains: "{{.dir}}", capture: 'pid (?P<pid>\d+)'}
    toolCalls: [{name: bash, arguments: {command: "kill {{.pid}}"}}]
  - expect: [{equals: "killed {{.pid}}"}]
    thinking: "{{.pid}} is gone"
  - text: "{{.nothing}}"
`)
	p := s.Provider(map[string]string{"dir": "/srv/app"})
	steps := []struct {
		req  llm.Request
		want string
	}{
		{llm.Request{}, `in /srv/app {"command":"cd /srv/app","list":["/srv/app/a"]}`},
		{after(result("/srv/app: pid 4711", false)), ` {"command":"kill 4711"}`},
		{after(result("killed 4711\n", false)), ` 4711 is gone`},
	}
	for i, step := range steps {
		m, err := p.Stream(t.Context(), step.req, silent)
		if err != nil {
			t.Fatalf("turn %d: %v", i+1, err)
		}
		got := m.Text() + " "
		for _, b := range m.Content {
			switch b := b.(type) {
			case *llm.Thinking:
				got += b.Text
			case *llm.ToolCall:
				got += string(b.Arguments)
			case *llm.Text:
			}
		}
		if got != step.want {
			t.Errorf("turn %d: %q, want %q", i+1, got, step.want)
		}
	}
	if _, err := p.Stream(t.Context(), llm.Request{}, silent); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a variable that does not exist: %v", err)
	}
	// Captures belong to one run of the script.
	fresh := s.Provider(map[string]string{"dir": "/srv/app"})
	if fresh.Remaining() != 4 || fresh.vars["pid"] != "" {
		t.Errorf("%d, %v", fresh.Remaining(), fresh.vars)
	}
}

func TestExpectations(t *testing.T) {
	for name, c := range map[string]struct {
		expect  string
		results []*llm.ToolResult
		want    []string // of the error; none if it passes
	}{
		"equals":            {`{equals: "a\nb"}`, []*llm.ToolResult{result("a\nb\n", false)}, nil},
		"equals differs":    {`{equals: "a\nb"}`, []*llm.ToolResult{result("a\nc", false)}, []string{"-b", "+c"}},
		"equals nothing":    {`{equals: ""}`, []*llm.ToolResult{result("a", false)}, []string{"+a"}},
		"contains":          {`{contains: el}`, []*llm.ToolResult{result("hello", false)}, nil},
		"contains not":      {`{contains: xyz}`, []*llm.ToolResult{result("hello", false)}, []string{"- xyz", "+ hello"}},
		"matches":           {`{matches: '^h.*o$'}`, []*llm.ToolResult{result("hello", false)}, nil},
		"matches not":       {`{matches: '^o'}`, []*llm.ToolResult{result("hello", false)}, []string{"^o", "+ hello"}},
		"captures not":      {`{capture: '(?P<n>\d+)'}`, []*llm.ToolResult{result("hello", false)}, []string{"(?P<n>", "+ hello"}},
		"an error":          {`{isError: true}`, []*llm.ToolResult{result("no", true)}, nil},
		"no error expected": {`{isError: false}`, []*llm.ToolResult{result("no such file", true)}, []string{"isError is true", "no such file"}},
		"in order":          {`{contains: a}, {contains: b}`, []*llm.ToolResult{result("a", false), result("b", false)}, nil},
		"out of order":      {`{contains: a}, {contains: b}`, []*llm.ToolResult{result("b", false), result("a", false)}, []string{"call 1"}},
		"one is missing":    {`{contains: a}, {contains: b}`, []*llm.ToolResult{result("a", false)}, []string{"call 2", "no such result"}},
		"older ones":        {`{contains: older}`, nil, []string{"call 1", "no such result"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := parse(t, "turns:\n  - expect: ["+c.expect+"]\n    text: done\n").Provider(nil)
			m, err := p.Stream(t.Context(), after(c.results...), silent)
			if c.want == nil {
				if err != nil || m.Text() != "done" {
					t.Errorf("%+v, %v", m, err)
				}
				return
			}
			var e *ExpectationError
			if !errors.As(err, &e) || m != nil || e.Turn != 1 || e.Script != "demo.yaml" {
				t.Fatalf("%+v, %v", m, err)
			}
			for _, part := range append(c.want, "demo.yaml", "turn 1") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
		})
	}
}

func TestExhausted(t *testing.T) {
	p := parse(t, "turns:\n  - text: a\n").Provider(nil)
	if _, err := p.Stream(t.Context(), llm.Request{}, silent); err != nil || p.Remaining() != 0 {
		t.Fatalf("%v, %d remain", err, p.Remaining())
	}
	for range 2 {
		m, err := p.Stream(t.Context(), llm.Request{}, silent)
		if err == nil || !strings.Contains(err.Error(), "script demo.yaml: its 1 turns are used up") || m != nil || p.Remaining() != 0 {
			t.Errorf("%+v, %v, %d remain", m, err, p.Remaining())
		}
	}
}

func TestDelayAndAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := parse(t, "turns:\n  - {text: a, delay: 2m}\n  - {text: b, delay: 2m}\n  - {text: c}\n").Provider(nil)
		start := time.Now()
		if m, err := p.Stream(t.Context(), llm.Request{}, silent); err != nil || m.Text() != "a" || time.Since(start) != 2*time.Minute {
			t.Errorf("%+v, %v after %v", m, err, time.Since(start))
		}
		cause := errors.New("the user pressed escape")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start = time.Now()
		_, err := p.Stream(ctx, llm.Request{}, func(e llm.StreamEvent) { t.Errorf("an event of an aborted answer: %+v", e) })
		if !errors.Is(err, cause) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		// A context that has ended uses up no turn.
		if _, err := p.Stream(ctx, llm.Request{}, silent); !errors.Is(err, cause) || p.Remaining() != 1 {
			t.Errorf("%v, %d remain", err, p.Remaining())
		}
	})
}

func TestAbortWithinAnAnswer(t *testing.T) {
	p := parse(t, "turns:\n  - text: one two three four\n    toolCalls: [{name: write}]\n").Provider(nil)
	ctx, cancel := context.WithCancel(t.Context())
	m, err := p.Stream(ctx, llm.Request{}, func(e llm.StreamEvent) {
		if e.Kind == llm.StreamTextDelta && e.Delta == "two " {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || m.Text() != "one two " || len(m.ToolCalls()) != 0 || m.StopReason != "" {
		t.Errorf("%+v, %v", m, err)
	}
}

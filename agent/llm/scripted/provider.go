package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// Provider answers requests from a script, one turn each. It is safe for
// concurrent use; turns are handed out in the order of the requests.
type Provider struct {
	script *Script

	mu   sync.Mutex
	next int
	vars map[string]string
}

// Provider returns a provider at the script's first turn.
func (s *Script) Provider(vars map[string]string) *Provider {
	p := &Provider{script: s, vars: map[string]string{}}
	maps.Copy(p.vars, vars)
	return p
}

// ExpectationError says how a tool result differs from what the script expects.
type ExpectationError struct {
	Script string
	Turn   int // from 1
	Call   int // of the preceding turn, from 1
	Diff   string
}

func (e *ExpectationError) Error() string {
	return fmt.Sprintf("script %s, turn %d: the result of call %d is not what is expected:\n%s", e.Script, e.Turn, e.Call, e.Diff)
}

// ExhaustedError is returned when a script has no turn left for a request.
type ExhaustedError struct {
	Script string
	Turns  int
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("script %s: its %d turns are used up, but the run asks for another answer", e.Script, e.Turns)
}

// Remaining returns the number of turns that have not been asked for.
func (p *Provider) Remaining() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.script.Turns) - p.next
}

// Stream answers with the next turn.
func (p *Provider) Stream(ctx context.Context, req llm.Request, emit func(llm.StreamEvent)) (*llm.Assistant, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	number, turn, vars, err := p.take(req)
	if err != nil {
		return nil, err
	}
	if turn.Delay > 0 {
		timer := time.NewTimer(turn.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	b := llm.NewBuilder("scripted", p.script.Name, time.Now().UnixMilli(), emit)
	err = p.answer(ctx, b, number, turn, vars)
	m := b.Message()
	m.Usage = tool.Usage{Input: turn.Usage.Input, Output: turn.Usage.Output, Cost: turn.Usage.Cost}
	if err != nil {
		return m, err
	}
	if turn.Error != nil {
		return m, turn.Error.err()
	}
	switch {
	case turn.StopReason != "":
		m.StopReason = turn.StopReason
	case len(turn.ToolCalls) > 0:
		m.StopReason = llm.StopToolUse
	default:
		m.StopReason = llm.StopEnd
	}
	return m, nil
}

// take checks the expectations of the next turn and hands it out.
func (p *Provider) take(req llm.Request) (int, Turn, map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next >= len(p.script.Turns) {
		return 0, Turn{}, nil, &ExhaustedError{p.script.Name, len(p.script.Turns)}
	}
	turn := p.script.Turns[p.next]
	p.next++
	results := lastResults(req.Messages)
	for i, e := range turn.Expect {
		if i >= len(results) {
			return 0, Turn{}, nil, &ExpectationError{p.script.Name, p.next, i + 1, "there is no such result"}
		}
		if err := p.check(e, i, results[i]); err != nil {
			return 0, Turn{}, nil, err
		}
	}
	return p.next, turn, maps.Clone(p.vars), nil
}

// lastResults lists the tool results at the end of a conversation.
func lastResults(messages []llm.Message) []*llm.ToolResult {
	from := len(messages)
	for from > 0 {
		if _, ok := messages[from-1].(*llm.ToolResult); !ok {
			break
		}
		from--
	}
	var results []*llm.ToolResult
	for _, m := range messages[from:] {
		if r, ok := m.(*llm.ToolResult); ok {
			results = append(results, r)
		}
	}
	return results
}

// check compares one result with one expectation.
func (p *Provider) check(e Expectation, i int, r *llm.ToolResult) error {
	text := tool.TextOf(r.Content)
	fail := func(format string, args ...any) error {
		return &ExpectationError{p.script.Name, p.next, i + 1, fmt.Sprintf(format, args...)}
	}
	if e.IsError != nil && *e.IsError != r.IsError {
		return fail("isError is %v, expected %v; the result is:\n%s", r.IsError, *e.IsError, text)
	}
	if e.Equals != nil {
		want, err := expand(*e.Equals, p.vars)
		if err != nil {
			return err
		}
		if strings.TrimSuffix(want, "\n") != strings.TrimSuffix(text, "\n") {
			return fail("%s", udiff.Unified("expected", "result", want+"\n", text+"\n"))
		}
	}
	if e.Contains != "" {
		want, err := expand(e.Contains, p.vars)
		if err != nil {
			return err
		}
		if !strings.Contains(text, want) {
			return fail("- %s\n+ %s", strings.ReplaceAll(want, "\n", "\n- "), strings.ReplaceAll(text, "\n", "\n+ "))
		}
	}
	if e.Matches != "" && !regexp.MustCompile(e.Matches).MatchString(text) { // Parse compiled it once
		return fail("- (matches) %s\n+ %s", e.Matches, strings.ReplaceAll(text, "\n", "\n+ "))
	}
	if e.Capture != "" {
		re := regexp.MustCompile(e.Capture) // Parse compiled it once
		m := re.FindStringSubmatch(text)
		if m == nil {
			return fail("- (captures) %s\n+ %s", e.Capture, strings.ReplaceAll(text, "\n", "\n+ "))
		}
		for n, name := range re.SubexpNames() {
			if name != "" {
				p.vars[name] = m[n]
			}
		}
	}
	return nil
}

// expand fills a template. A variable that does not exist is an error.
func expand(text string, vars map[string]string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t, err := template.New("script").Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf("script template: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, vars); err != nil {
		return "", fmt.Errorf("script template: %w", err)
	}
	return b.String(), nil
}

// answer streams a turn in pieces, as a model would.
func (p *Provider) answer(ctx context.Context, b *llm.Builder, number int, turn Turn, vars map[string]string) error {
	thinking, err := expand(turn.Thinking, vars)
	if err != nil {
		return err
	}
	text, err := expand(turn.Text, vars)
	if err != nil {
		return err
	}
	for _, piece := range pieces(thinking) {
		b.Thinking("0", piece)
	}
	b.ThinkingEnd("0", "", false)
	for _, piece := range pieces(text) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b.Text("0", piece)
	}
	b.TextEnd("0")
	for i, c := range turn.ToolCalls {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		filled, err := expandValue(c.Arguments, vars)
		if err != nil {
			return err
		}
		arguments, err := json.Marshal(filled)
		if err != nil {
			return fmt.Errorf("script %s, turn %d: %w", p.script.Name, number, err)
		}
		if c.Arguments == nil {
			arguments = []byte("{}")
		}
		if c.RawArguments != nil {
			text, err := expand(*c.RawArguments, vars)
			if err != nil {
				return err
			}
			arguments = []byte(text)
		}
		id := c.ID
		if id == "" {
			id = fmt.Sprintf("call_%d_%d", number, i+1)
		}
		key := fmt.Sprint(i)
		b.ToolCallStart(key, id, c.Name)
		for _, piece := range pieces(string(arguments)) {
			b.ToolCallDelta(key, piece)
		}
		b.ToolCallEnd(key, "")
	}
	return nil
}

// expandValue fills the templates in every string of a value.
func expandValue(v any, vars map[string]string) (any, error) {
	switch v := v.(type) {
	case string:
		return expand(v, vars)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			filled, err := expandValue(item, vars)
			if err != nil {
				return nil, err
			}
			out[k] = filled
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			filled, err := expandValue(item, vars)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	}
	return v, nil
}

// pieces cuts text behind its words, so that no character is split.
func pieces(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

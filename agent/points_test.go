package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// points is a session in which everything that the loop calls counts its calls,
// and the call with the number stop aborts the run.
type points struct {
	*agent.Agent
	t    *testing.T
	stop int

	mu       sync.Mutex
	count    int
	where    string // the point at which the run was aborted
	requests int
	runs     map[string]int
	outcomes map[string]*llm.ToolResult
	log      []string
}

// pass is one point.
func (p *points) pass(where string) {
	p.mu.Lock()
	p.count++
	reached := p.count == p.stop
	if reached {
		p.where = where
	}
	p.mu.Unlock()
	if reached {
		p.Abort()
	}
}

// Stream answers with three calls, then with a closing text, each in pieces.
func (p *points) Stream(ctx context.Context, req llm.Request, emit func(llm.StreamEvent)) (*llm.Assistant, error) {
	if ctx.Err() != nil {
		p.t.Error("LOOP-04: a request was sent with a context that has ended")
	}
	paired(p.t, req.Messages)
	p.pass("request")
	b := llm.NewBuilder("points", "points", 1, func(e llm.StreamEvent) {
		p.pass("before a piece")
		emit(e)
		p.pass("after a piece")
	})
	p.requests++
	if p.requests > 1 {
		for _, piece := range []string{"all ", "is ", "done"} {
			if ctx.Err() != nil {
				return b.Message(), context.Cause(ctx)
			}
			b.Text("", piece)
		}
		b.TextEnd("")
		b.Message().StopReason = llm.StopEnd
		return b.Message(), nil
	}
	b.Thinking("", "so")
	b.ThinkingEnd("", "seal", false)
	for _, id := range []string{"A", "B", "C"} {
		if ctx.Err() != nil {
			return b.Message(), context.Cause(ctx)
		}
		b.ToolCallStart(id, id, strings.ToLower(id))
		b.ToolCallDelta(id, `{"n":`)
		b.ToolCallDelta(id, `1}`)
		b.ToolCallEnd(id, "")
	}
	b.Message().StopReason = llm.StopToolUse
	return b.Message(), nil
}

// work is a tool of several steps; deaf ones don't hear of an abort.
func (p *points) work(name string, step time.Duration, deaf bool) fake {
	return fake{name: name, run: func(ctx context.Context, c tool.Call, u tool.Update) (tool.Result, error) {
		p.mu.Lock()
		p.runs[c.ID]++
		p.mu.Unlock()
		for i := range 4 {
			p.pass("before a step of " + name)
			u(tool.TextResult(fmt.Sprint(i)))
			if deaf {
				<-time.After(step)
			} else {
				select {
				case <-time.After(step):
				case <-ctx.Done():
					return tool.Result{}, context.Cause(ctx)
				}
			}
			p.pass("after a step of " + name)
		}
		return tool.TextResult("did " + name), nil
	}}
}

// newPoints is such a session. The tools' steps never end at the same instant, so
// that the points always come in the same order.
func newPoints(t *testing.T, mode tool.ExecutionMode, deaf bool, stop int) *points {
	t.Helper()
	p := &points{t: t, stop: stop, runs: map[string]int{}, outcomes: map[string]*llm.ToolResult{}}
	list := []tool.Tool{p.work("a", 1000*time.Millisecond, false), p.work("b", 1300*time.Millisecond, deaf), p.work("c", 700*time.Millisecond, false)}
	hooks := call.Options{
		Grace: 2 * time.Second,
		Tools: func() []tool.Tool { p.pass("list of callable tools"); return list },
		Scope: func() tool.Scope { p.pass("scope"); return tool.Scope{} },
		Input: []call.InputHook{func(context.Context, call.Request) (json.RawMessage, error) {
			p.pass("input hook")
			return nil, nil
		}},
		Before: []call.BeforeHook{func(context.Context, call.Request) (call.Decision, error) {
			p.pass("before hook")
			return call.Decision{}, nil
		}},
		After: []call.AfterHook{func(context.Context, call.Request, tool.Result, bool) (*call.Patch, error) {
			p.pass("after hook")
			return nil, nil
		}},
	}
	same := func(where string) func(context.Context, []llm.Message) ([]llm.Message, error) {
		return func(_ context.Context, messages []llm.Message) ([]llm.Message, error) {
			p.pass(where)
			return messages, nil
		}
	}
	var err error
	p.Agent, err = agent.New(agent.Options{
		Provider: p, Executor: call.New(hooks), ToolExecution: mode,
		Tools:               func() []tool.Tool { p.pass("list of offered tools"); return list },
		TransformContext:    same("TransformContext"),
		ConvertToLLM:        same("ConvertToLLM"),
		ShouldStopAfterTurn: func(agent.TurnEnd) bool { p.pass("ShouldStopAfterTurn"); return false },
		PrepareNextTurn:     func(context.Context) error { p.pass("PrepareNextTurn"); return nil },
		ToolOutcome: func(_ context.Context, m *llm.ToolResult) error {
			p.pass("ToolOutcome")
			p.mu.Lock()
			defer p.mu.Unlock()
			p.outcomes[m.ToolCallID] = m
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		p.Subscribe(func(_ context.Context, e agent.Event) error {
			p.pass(fmt.Sprintf("listener %d of %T", i+1, e))
			if line := describe(e); i == 0 && line != "" {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.log = append(p.log, line)
			}
			return nil
		})
	}
	return p
}

// abortedAt aborts a run at point number stop, checks what is left of it, and
// goes on with what was queued. It returns the number of points that there were.
func abortedAt(t *testing.T, mode tool.ExecutionMode, deaf bool, stop int) (count int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { // ends only when no goroutine is left
		p := newPoints(t, mode, deaf, stop)
		for _, text := range []string{"steer 1", "steer 2"} {
			p.Steer(prompt(text))
		}
		p.FollowUp(prompt("follow 1"))
		s, err := p.Prompt(t.Context(), prompt("go"))
		count = p.count
		fail := func(format string, args ...any) {
			t.Errorf("%s, deaf %v, point %d (%s): %s", mode, deaf, stop, p.where, fmt.Sprintf(format, args...))
		}
		want := agent.StopAborted
		if p.where == "" || strings.HasSuffix(p.where, "agent.AgentEnd") {
			want = agent.StopDone // an abort behind the end comes too late
		}
		if err != nil || s.Reason != want {
			fail("%+v, %v", s, err)
		}
		state := p.State()
		if state.Running || state.Streaming != nil || len(state.Pending) != 0 {
			fail("%+v", state)
		}
		paired(t, state.Messages)
		nested(t, p.log)
		p.kept(state.Messages, fail)
		// Each queued message is in one place, in order, and the next run brings
		// the rest.
		if d := cmp.Diff([]string{"go", "steer 1", "steer 2", "follow 1"}, said(state.Messages, state.Steering, state.FollowUps)); d != "" {
			fail("LOOP-04: %s", d)
		}
		if len(state.Steering)+len(state.FollowUps) > 0 {
			p.stop = 0
			if s, err := p.Continue(t.Context()); err != nil || s.Reason != agent.StopDone {
				fail("Continue: %+v, %v", s, err)
			}
			state = p.State()
			if d := cmp.Diff([]string{"go", "steer 1", "steer 2", "follow 1"}, said(state.Messages)); d != "" || len(state.Steering)+len(state.FollowUps) > 0 {
				fail("LOOP-04: after Continue: %s", d)
			}
			paired(t, state.Messages)
		}
		<-time.After(time.Hour) // a deaf tool that was left behind comes to its end
	})
	return count
}

// kept checks that outcomes were kept once for what became a result, and that no
// tool ran twice.
func (p *points) kept(messages []llm.Message, fail func(string, ...any)) {
	for id, n := range p.runs {
		if n > 1 || p.outcomes[id] == nil {
			fail("%s ran %d times, its outcome is %v", id, n, p.outcomes[id])
		}
	}
	for _, m := range messages {
		if r, ok := m.(*llm.ToolResult); ok && p.outcomes[r.ToolCallID] != nil && p.outcomes[r.ToolCallID] != r {
			fail("LOOP-03: the outcome of %s is not its result", r.ToolCallID)
		}
	}
}

// said lists what a user said.
func said(lists ...[]llm.Message) (texts []string) {
	for _, list := range lists {
		for _, m := range list {
			if u, ok := m.(*llm.User); ok {
				texts = append(texts, tool.TextOf(u.Content))
			}
		}
	}
	return texts
}

// Wherever the loop of a three-tool turn calls out, an abort leaves a whole
// conversation, no goroutine and no lost message.
func TestLOOP01LOOP04AbortAtEachPoint(t *testing.T) {
	for _, mode := range []tool.ExecutionMode{tool.Parallel, tool.Sequential} {
		for _, deaf := range []bool{false, true} {
			whole := abortedAt(t, mode, deaf, 0)
			if whole < 200 {
				t.Errorf("%s: %d points are too few", mode, whole)
			}
			for stop := 1; stop <= whole && !t.Failed(); stop++ {
				abortedAt(t, mode, deaf, stop)
			}
			t.Logf("%s, deaf %v: %d points", mode, deaf, whole)
		}
	}
}

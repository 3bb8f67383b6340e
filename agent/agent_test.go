package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/tools/tool"
)

const threeCalls = `
turns:
  - toolCalls:
      - {id: A, name: a}
      - {id: B, name: b}
      - {id: C, name: c}
  - text: done
`

func TestLOOP04SteeringAndFollowUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		b = newBench(t, "turns:\n  - toolCalls: [{id: A, name: a}]\n  - text: one\n  - text: two\n", call.Options{}, agent.Options{},
			fake{name: "a", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
				b.FollowUp(prompt("later"))
				b.Steer(prompt("now"))
				return tool.Result{}, nil
			}})
		if _, err := b.Prompt(t.Context(), prompt("go")); err != nil {
			t.Error(err)
		}
		var order []string
		for _, m := range b.State().Messages {
			order = append(order, role(m)+summary(m))
		}
		want := []string{"user: go", "assistant toolUse", "result A: ", "user: now", "assistant stop", "user: later", "assistant stop"}
		if d := cmp.Diff(want, order); d != "" {
			t.Error(d)
		}
		b.Steer(prompt("kept"))
		if s, f := b.ClearQueues(); len(s) != 1 || len(f) != 0 || len(b.State().Steering) != 0 {
			t.Errorf("%v %v", s, f)
		}
	})
}

func TestEVNT01ThrowingListenerLosesNoResult(t *testing.T) {
	kinds := []string{
		"AgentStart", "TurnStart", "MessageStart", "MessageUpdate", "MessageEnd", "ToolExecutionStart", "ToolExecutionUpdate",
		"ToolExecutionEnd", "TurnEnd", "AgentEnd",
	}
	for _, kind := range kinds {
		for _, panics := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				b := newBench(t, "turns:\n  - text: x\n    toolCalls: [{id: A, name: a}]\n  - text: done\n", call.Options{}, agent.Options{},
					fake{name: "a", run: func(_ context.Context, _ tool.Call, u tool.Update) (tool.Result, error) {
						runs++
						u(tool.TextResult("half"))
						return tool.TextResult("whole"), nil
					}})
				thrown := false
				b.Subscribe(func(_ context.Context, e agent.Event) error {
					if thrown || fmt.Sprintf("%T", e) != "agent."+kind {
						return nil
					}
					thrown = true
					if panics {
						panic("boom")
					}
					return errors.New("boom")
				})
				s, err := b.Prompt(t.Context(), prompt("go"))
				if !thrown || runs > 1 {
					t.Errorf("%s: thrown %v, %d runs", kind, thrown, runs)
				}
				if err == nil && s.Reason != agent.StopError {
					t.Errorf("%s: the run ended with %s", kind, s.Reason)
				}
				calls, results := 0, 0
				for _, m := range b.State().Messages {
					switch m := m.(type) {
					case *llm.Assistant:
						calls += len(m.ToolCalls())
					case *llm.ToolResult:
						results++
					case *llm.User:
					}
				}
				if runs == 1 && results != 1 {
					t.Errorf("%s: the tool ran, %d calls, %d results", kind, calls, results)
				}
			})
		}
	}
}

func TestLimits(t *testing.T) {
	loop := "turns:\n" + strings.Repeat("  - toolCalls: [{name: a, arguments: {x: 1}}]\n    usage: {cost: 0.25}\n", 20)
	for _, c := range []struct {
		limits agent.Limits
		want   agent.StopReason
		turns  int
	}{
		{agent.Limits{Turns: 3}, agent.StopTurns, 3},
		{agent.Limits{ToolCalls: 4}, agent.StopToolCalls, 4},
		{agent.Limits{Cost: 0.5}, agent.StopCost, 2},
		{agent.Limits{Repeats: 5}, agent.StopRepeats, 5}, // hazard LOOP-09
		{agent.Limits{Time: 90 * time.Second}, agent.StopTime, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, loop, call.Options{}, agent.Options{Limits: c.limits}, after("a", time.Minute))
			s, err := b.Prompt(t.Context(), prompt("go"))
			if err != nil || s.Reason != c.want || s.Turns != c.turns || !s.Reason.Limited() {
				t.Errorf("%+v: %+v, %v", c.limits, s, err)
			}
		})
	}
}

func TestScriptExpectations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "turns:\n  - toolCalls: [{name: a}]\n  - expect: [{equals: other}]\n    text: done\n", call.Options{}, agent.Options{}, fake{name: "a"})
		s, err := b.Prompt(t.Context(), prompt("go"))
		var ee *scripted.ExpectationError
		if err != nil || !errors.As(s.Err, &ee) || !strings.Contains(ee.Diff, "-other") || !strings.Contains(ee.Diff, "+did a") {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, threeCalls, call.Options{}, agent.Options{}, after("a", time.Second), fake{name: "b"}, fake{name: "c"})
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := b.Prompt(t.Context(), prompt("go")); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if _, err := b.Prompt(t.Context(), prompt("again")); !errors.Is(err, agent.ErrBusy) {
			t.Errorf("%v", err)
		}
		if err := b.WaitForIdle(t.Context()); err != nil || b.State().Running {
			t.Errorf("%v", err)
		}
		<-done
	})
}

package agent_test

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

func TestOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "turns:\n  - toolCalls: [{id: A, name: a}]\n  - text: done\n", call.Options{}, agent.Options{}, fake{name: "a"})
		s, err := b.Prompt(t.Context(), prompt("go"))
		if err != nil || s.Reason != agent.StopDone || s.Turns != 2 || s.ToolCalls["a"] != 1 {
			t.Errorf("%+v, %v", s, err)
		}
		b.wants(t, `
			agent_start
			turn_start
			message_start user
			message_end user: go
			message_start assistant
			message_end assistant toolUse
			tool_start A
			tool_end A error=false
			message_start result A
			message_end result A: did a
			turn_end 1 results
			turn_start
			message_start assistant
			message_end assistant stop
			turn_end 0 results
			agent_end 4`)
	})
}

// The example of the specification: A fails in preflight, B and C overlap.
func TestParallelBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, threeCalls, call.Options{}, agent.Options{}, after("b", 2*time.Second), after("c", time.Second))
		if _, err := b.Prompt(t.Context(), prompt("go")); err != nil {
			t.Error(err)
		}
		b.wants(t, `
			agent_start
			turn_start
			message_start user
			message_end user: go
			message_start assistant
			message_end assistant toolUse
			tool_start A
			tool_end A error=true
			tool_start B
			tool_start C
			tool_end C error=false
			tool_end B error=false
			message_start result A
			message_end result A: Tool "a" not found. Available tools: b, c
			message_start result B
			message_end result B: did b
			message_start result C
			message_end result C: did c
			turn_end 3 results
			turn_start
			message_start assistant
			message_end assistant stop
			turn_end 0 results
			agent_end 6`)
	})
}

func TestSequentialBatch(t *testing.T) {
	for name, setup := range map[string]struct {
		options agent.Options
		b       fake
	}{
		"global":                             {agent.Options{ToolExecution: tool.Sequential}, after("b", time.Second)},
		"one tool":                           {agent.Options{}, fake{name: "b", mode: tool.Sequential}},
		"LOOP-06 shell beside a file change": {agent.Options{}, fake{name: "b", access: tool.AccessShell}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, threeCalls, call.Options{}, setup.options, after("a", time.Second), setup.b, fake{name: "c", access: tool.AccessWrite})
				if _, err := b.Prompt(t.Context(), prompt("go")); err != nil {
					t.Error(err)
				}
				var order []string
				for _, line := range b.log {
					if strings.HasPrefix(line, "tool_") || strings.HasPrefix(line, "message_end result") {
						order = append(order, strings.Join(strings.Fields(line)[:2], " "))
					}
				}
				want := []string{"tool_start A", "tool_end A", "message_end result", "tool_start B", "tool_end B", "message_end result", "tool_start C", "tool_end C", "message_end result"}
				if d := cmp.Diff(want, order); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

func TestLOOP05AbortDuringPreflightStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		count := func(name string) fake {
			return fake{name: name, run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
				ran++
				return tool.Result{}, nil
			}}
		}
		var b *bench
		b = newBench(t, threeCalls, call.Options{Before: []call.BeforeHook{func(_ context.Context, r call.Request) (call.Decision, error) {
			if r.Name == "c" {
				b.Abort()
			}
			return call.Decision{}, nil
		}}}, agent.Options{}, count("a"), count("b"), count("c"))
		s, err := b.Prompt(t.Context(), prompt("go"))
		if err != nil || s.Reason != agent.StopAborted || ran != 0 {
			t.Errorf("%+v, %v, %d calls ran", s, err, ran)
		}
		results := 0
		for _, m := range b.State().Messages {
			if r, ok := m.(*llm.ToolResult); ok {
				results++
				if !r.IsError || tool.TextOf(r.Content) != "Operation aborted" {
					t.Errorf("result %s: %s", r.ToolCallID, tool.TextOf(r.Content))
				}
			}
		}
		if results != 3 {
			t.Errorf("%d results", results)
		}
	})
}

func TestLOOP01AbortGivesEveryCallOneResult(t *testing.T) {
	for _, mode := range []tool.ExecutionMode{tool.Parallel, tool.Sequential} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, threeCalls, call.Options{}, agent.Options{ToolExecution: mode}, fake{name: "a"}, after("b", time.Hour), after("c", time.Hour))
			time.AfterFunc(time.Minute, b.Abort)
			s, err := b.Prompt(t.Context(), prompt("go"))
			if err != nil || s.Reason != agent.StopAborted {
				t.Errorf("%+v, %v", s, err)
			}
			var ids []string
			for _, m := range b.State().Messages {
				if r, ok := m.(*llm.ToolResult); ok {
					ids = append(ids, r.ToolCallID)
				}
			}
			if d := cmp.Diff([]string{"A", "B", "C"}, ids); d != "" {
				t.Error(d)
			}
			if last := b.log[len(b.log)-1]; !strings.HasPrefix(last, "agent_end") {
				t.Errorf("the last event is %s", last)
			}
		})
	}
}

func TestLOOP03StalledToolIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stalled := fake{name: "b", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
			<-release
			return tool.Result{}, nil
		}}
		b := newBench(t, threeCalls, call.Options{Grace: 5 * time.Second}, agent.Options{}, fake{name: "a"}, stalled, fake{name: "c"})
		time.AfterFunc(time.Second, b.Abort)
		start := time.Now()
		if _, err := b.Prompt(t.Context(), prompt("go")); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 6*time.Second {
			t.Errorf("the run ended after %v", took)
		}
		found := false
		for _, line := range b.log {
			found = found || strings.HasPrefix(line, "message_end result B: b aborted, may still be running")
		}
		if !found {
			t.Errorf("%v", b.log)
		}
		close(release)
	})
}

func TestPROV01CutAnswerRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := strings.Replace(threeCalls, "  - toolCalls:", "  - stopReason: length\n    toolCalls:", 1)
		b := newBench(t, script, call.Options{}, agent.Options{}, fake{name: "a", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
			t.Error("a call of a cut answer ran")
			return tool.Result{}, nil
		}}, fake{name: "b"}, fake{name: "c"})
		if _, err := b.Prompt(t.Context(), prompt("go")); err != nil {
			t.Error(err)
		}
		for _, line := range b.log {
			if strings.HasPrefix(line, "tool_") {
				t.Errorf("%s", line)
			}
		}
	})
}

func TestEVNT02UpdatesStopWithTheTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		b := newBench(t, "turns:\n  - toolCalls: [{id: A, name: a}]\n  - text: done\n", call.Options{}, agent.Options{},
			fake{name: "a", run: func(_ context.Context, _ tool.Call, u tool.Update) (tool.Result, error) {
				u(tool.TextResult("half"))
				time.AfterFunc(time.Minute, func() { u(tool.TextResult("late")); close(late) })
				return tool.TextResult("whole"), nil
			}})
		if _, err := b.Prompt(t.Context(), prompt("go")); err != nil {
			t.Error(err)
		}
		<-late
		var tools []string
		for _, line := range b.log {
			if strings.HasPrefix(line, "tool_") {
				tools = append(tools, line)
			}
		}
		if d := cmp.Diff([]string{"tool_start A", "tool_update A half", "tool_end A error=false"}, tools); d != "" {
			t.Error(d)
		}
	})
}

func TestTerminationIsUnanimous(t *testing.T) {
	vote := func(name string, yes bool) fake {
		return fake{name: name, run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
			return tool.Result{Terminate: yes}, nil
		}}
	}
	for _, c := range []struct {
		votes [3]bool
		want  agent.StopReason
	}{{[3]bool{true, true, true}, agent.StopTerminated}, {[3]bool{true, false, true}, agent.StopDone}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, threeCalls, call.Options{}, agent.Options{}, vote("a", c.votes[0]), vote("b", c.votes[1]), vote("c", c.votes[2]))
			if s, err := b.Prompt(t.Context(), prompt("go")); err != nil || s.Reason != c.want {
				t.Errorf("%v: %+v, %v", c.votes, s, err)
			}
		})
	}
}

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

func TestProviderFailureIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "turns:\n  - text: half\n    toolCalls: [{id: A, name: a}]\n    error: {kind: auth, message: no}\n", call.Options{}, agent.Options{}, fake{name: "a"})
		s, err := b.Prompt(t.Context(), prompt("go"))
		var le *llm.Error
		if err != nil || s.Reason != agent.StopError || !errors.As(s.Err, &le) || le.Kind != llm.ErrAuth {
			t.Errorf("%+v, %v", s, err)
		}
		b.wants(t, `
			agent_start
			turn_start
			message_start user
			message_end user: go
			message_start assistant
			message_end assistant error
			message_start result A
			message_end result A: not executed: the answer did not end
			turn_end 1 results
			agent_end 3`)
	})
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

func TestEventJSON(t *testing.T) {
	line, err := agent.EventJSON(agent.ToolExecutionStart{ToolCallID: "1", ToolName: "read", Args: json.RawMessage(`{"path":"a\u2028"}`)})
	want := `{"args":{"path":"a\u2028"},"toolCallId":"1","toolName":"read","type":"tool_execution_start"}`
	if err != nil || string(line) != want {
		t.Errorf("EVNT-07: %s, %v", line, err)
	}
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

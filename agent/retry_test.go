package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

func TestPROV05RetryTranscript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		b := newBench(t, `
turns:
  - toolCalls: [{id: A, name: a}]
  - text: half
    toolCalls: [{id: B, name: a}]
    error: {kind: truncated stream, message: cut}
  - text: done
`, call.Options{}, agent.Options{}, fake{name: "a", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
			runs++
			return tool.TextResult("did a"), nil
		}})
		s, err := b.Prompt(t.Context(), prompt("go"))
		if err != nil || s.Reason != agent.StopDone || s.Err != nil || s.Retries != 1 || s.Turns != 2 || s.ToolFails != 0 || runs != 1 {
			t.Errorf("%+v, %v, %d runs", s, err, runs)
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
			message_end assistant error
			message_start result B
			message_end result B: not executed: the answer did not end
			turn_end 1 results
			turn_start
			message_start assistant
			message_end assistant stop
			turn_end 0 results
			agent_end 4`)
		paired(t, b.State().Messages)
	})
}

func TestPROV05PROV07RetryPolicy(t *testing.T) {
	turn := func(failure string) string { return "  - error: " + failure + "\n" }
	busy := turn("{kind: overloaded, message: busy}")
	for name, c := range map[string]struct {
		script   string
		retry    agent.Retry
		reason   agent.StopReason
		retries  int
		min, max time.Duration
		text     string // in the error
	}{
		"three busy answers":     {busy + busy + busy + "  - text: done\n", agent.Retry{}, agent.StopDone, 3, 14 * time.Second, 18 * time.Second, ""},
		"a fourth is final":      {busy + busy + busy + busy, agent.Retry{}, agent.StopError, 3, 14 * time.Second, 18 * time.Second, "busy"},
		"never":                  {busy, agent.Retry{Attempts: -1}, agent.StopError, 0, 0, 0, "busy"},
		"the provider's wait":    {turn("{status: 429, retryAfter: 30s}") + "  - text: done\n", agent.Retry{}, agent.StopDone, 1, 30 * time.Second, 30 * time.Second, ""},
		"too long a wait":        {turn("{status: 429, retryAfter: 24h}"), agent.Retry{}, agent.StopError, 0, 0, 0, "wait 24h0m0s"},
		"final 400":              {turn("{status: 400, message: bad}"), agent.Retry{}, agent.StopError, 0, 0, 0, "bad"},
		"overflow is not for it": {turn("{kind: context overflow}"), agent.Retry{}, agent.StopError, 0, 0, 0, "overflow"},
		"attempts count anew": {
			busy + "  - toolCalls: [{name: a}]\n" + busy + "  - text: done\n",
			agent.Retry{Attempts: 1, Delay: time.Second},
			agent.StopDone, 2, 2 * time.Second, 3 * time.Second, "",
		},
		"the longest delay": {busy + busy + busy + "  - text: done\n", agent.Retry{MaxDelay: 3 * time.Second}, agent.StopDone, 3, 8 * time.Second, 11 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var notices []agent.RetryNotice
				c.retry.Notify = func(n agent.RetryNotice) { notices = append(notices, n) }
				b := newBench(t, "turns:\n"+c.script, call.Options{}, agent.Options{Retry: c.retry}, fake{name: "a"})
				start := time.Now()
				s, err := b.Prompt(t.Context(), prompt("go"))
				took := time.Since(start)
				if err != nil || s.Reason != c.reason || s.Retries != c.retries || len(notices) != c.retries || took < c.min || took > c.max {
					t.Errorf("%+v, %v, %d notices, took %v", s, err, len(notices), took)
				}
				var le *llm.Error
				if c.text != "" && (!errors.As(s.Err, &le) || !strings.Contains(s.Err.Error(), c.text)) {
					t.Errorf("%v", s.Err)
				}
				if b.provider.Remaining() != 0 {
					t.Errorf("%d turns are left", b.provider.Remaining())
				}
			})
		})
	}
}

func TestPROV07AbortEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "turns:\n  - error: {status: 429, retryAfter: 50s}\n  - text: never\n", call.Options{}, agent.Options{})
		time.AfterFunc(time.Second, b.Abort)
		start := time.Now()
		s, err := b.Prompt(t.Context(), prompt("go"))
		if err != nil || s.Reason != agent.StopAborted || time.Since(start) != time.Second || b.provider.Remaining() != 1 {
			t.Errorf("%+v, %v after %v", s, err, time.Since(start))
		}
	})
}

func TestQueueModes(t *testing.T) {
	for name, c := range map[string]struct {
		options agent.Options
		want    []string
	}{
		"one at a time": {agent.Options{}, []string{"go", "*", "s1", "*", "s2", "*", "f1", "*", "f2", "*"}},
		"all":           {agent.Options{SteerAll: true, FollowUpAll: true}, []string{"go", "*", "s1", "s2", "*", "f1", "f2", "*"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, "turns:\n"+strings.Repeat("  - text: x\n", 5), call.Options{}, c.options)
			once := false
			b.Subscribe(func(_ context.Context, e agent.Event) error {
				if _, ok := e.(agent.TurnEnd); ok && !once {
					once = true
					b.FollowUp(prompt("f1"))
					b.FollowUp(prompt("f2"))
					b.Steer(prompt("s1"))
					b.Steer(prompt("s2"))
				}
				return nil
			})
			if s, err := b.Prompt(t.Context(), prompt("go")); err != nil || s.Reason != agent.StopDone {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
			var order []string
			for _, m := range b.State().Messages {
				if u, ok := m.(*llm.User); ok {
					order = append(order, tool.TextOf(u.Content))
				} else {
					order = append(order, "*")
				}
			}
			if d := cmp.Diff(c.want, order); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		})
	}
}

// What a person says makes the same calls worth another try.
func TestLOOP09InputResetsTheRepetition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		var b *bench
		b = newBench(t, "turns:\n"+strings.Repeat("  - toolCalls: [{name: a}]\n", 9), call.Options{}, agent.Options{Limits: agent.Limits{Repeats: 3}},
			fake{name: "a", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
				if n++; n == 2 {
					b.Steer(prompt("again"))
				}
				return tool.Result{}, nil
			}})
		if s, err := b.Prompt(t.Context(), prompt("go")); err != nil || s.Reason != agent.StopRepeats || n != 5 {
			t.Errorf("%+v, %v, %d calls", s, err, n)
		}
	})
}

func TestHooksOfTheLoop(t *testing.T) {
	boom := errors.New("boom")
	for name, o := range map[string]agent.Options{
		"TransformContext":    {TransformContext: func(context.Context, []llm.Message) ([]llm.Message, error) { return nil, boom }},
		"ConvertToLLM":        {ConvertToLLM: func(context.Context, []llm.Message) ([]llm.Message, error) { panic("boom") }},
		"PrepareNextTurn":     {PrepareNextTurn: func(context.Context) error { return boom }},
		"ShouldStopAfterTurn": {ShouldStopAfterTurn: func(agent.TurnEnd) bool { panic("boom") }},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, "turns:\n  - toolCalls: [{id: A, name: a}]\n  - text: done\n", call.Options{}, o, fake{name: "a"})
			s, err := b.Prompt(t.Context(), prompt("go"))
			if err != nil || s.Reason != agent.StopError || !strings.Contains(s.Err.Error(), name) || !strings.Contains(s.Err.Error(), "boom") {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
			paired(t, b.State().Messages)
			nested(t, b.log)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		// The conversation itself stays as it is.
		drop := func(_ context.Context, m []llm.Message) ([]llm.Message, error) { return m[1:], nil }
		prepared := 0
		b := newBench(t, "turns:\n  - toolCalls: [{id: A, name: a}]\n  - text: never\n", call.Options{}, agent.Options{
			TransformContext: drop, ConvertToLLM: func(_ context.Context, m []llm.Message) ([]llm.Message, error) {
				if len(m) != 0 {
					t.Errorf("%d messages", len(m))
				}
				return m, nil
			},
			PrepareNextTurn:     func(context.Context) error { prepared++; return nil },
			ShouldStopAfterTurn: func(e agent.TurnEnd) bool { return len(e.ToolResults) == 1 },
		}, fake{name: "a"})
		s, err := b.Prompt(t.Context(), prompt("go"))
		if err != nil || s.Reason != agent.StopRequested || len(b.State().Messages) != 3 || prepared != 0 {
			t.Errorf("%+v, %v, %d messages, prepared %d times", s, err, len(b.State().Messages), prepared)
		}
	})
}

func TestBlockedCallInABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, threeCalls, call.Options{Before: []call.BeforeHook{func(_ context.Context, r call.Request) (call.Decision, error) {
			return call.Decision{Block: r.Name == "b", Reason: "b is not allowed"}, nil
		}}}, agent.Options{}, after("a", time.Second), fake{name: "b"}, fake{name: "c"})
		s, err := b.Prompt(t.Context(), prompt("go"))
		if err != nil || s.Denied != 1 || s.ToolFails != 1 || s.ToolCalls["b"] != 0 {
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
			tool_start B
			tool_end B error=true
			tool_start C
			tool_end C error=false
			tool_end A error=false
			message_start result A
			message_end result A: did a
			message_start result B
			message_end result B: b is not allowed
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

func TestContinue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "turns:\n  - text: one\n  - text: two\n", call.Options{}, agent.Options{})
		if _, err := b.Continue(t.Context()); err == nil {
			t.Error("an empty conversation continues")
		}
		b.FollowUp(prompt("first"))
		b.ClearQueues()
		if err := b.Load([]llm.Message{prompt("loaded")}); err != nil {
			t.Error(err)
		}
		if s, err := b.Continue(t.Context()); err != nil || s.Reason != agent.StopDone {
			t.Errorf("%+v, %v", s, err)
		}
		if _, err := b.Continue(t.Context()); err == nil {
			t.Error("an answered conversation continues")
		}
		b.FollowUp(prompt("more"))
		if s, err := b.Continue(t.Context()); err != nil || s.Reason != agent.StopDone || len(b.State().Messages) != 4 || len(b.State().FollowUps) != 0 {
			t.Errorf("%+v, %v, %+v", s, err, b.State())
		}
	})
}

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// checked passes requests on and notices those that should never be sent.
type checked struct {
	llm.Provider
	t *testing.T
}

func (c checked) Stream(ctx context.Context, req llm.Request, emit func(llm.StreamEvent)) (*llm.Assistant, error) {
	if ctx.Err() != nil {
		c.t.Error("LOOP-04: a request was sent with a context that has ended")
	}
	paired(c.t, req.Messages)
	return c.Provider.Stream(ctx, req, emit)
}

// paired checks that each call has exactly one result, directly behind its
// answer and in order (hazard LOOP-01).
func paired(t *testing.T, messages []llm.Message) {
	t.Helper()
	var open []string
	for _, m := range messages {
		switch m := m.(type) {
		case *llm.ToolResult:
			if len(open) == 0 || open[0] != m.ToolCallID {
				t.Errorf("LOOP-01: the result of %s comes while %v wait", m.ToolCallID, open)
				return
			}
			open = open[1:]
		case *llm.User, *llm.Assistant:
			if len(open) > 0 {
				t.Errorf("LOOP-01: %v have no result", open)
			}
			if a, ok := m.(*llm.Assistant); ok {
				for _, c := range a.ToolCalls() {
					open = append(open, c.ID)
				}
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("LOOP-01: %v have no result at the end", open)
	}
}

// nested checks that the events of a run open and close in order. A listener
// that failed may have kept openings from later ones, never from this one.
func nested(t *testing.T, log []string) {
	t.Helper()
	ends := 0
	pending := map[string]bool{}
	for i, line := range log {
		word, rest, _ := strings.Cut(line, " ")
		id, _, _ := strings.Cut(rest, " ")
		switch word {
		case "tool_start":
			pending[id] = true
		case "tool_end":
			if !pending[id] {
				t.Errorf("%s ends without a start", id)
			}
			delete(pending, id)
		case "turn_end":
			if len(pending) > 0 {
				t.Errorf("a turn ends while %v run", pending)
			}
		case "agent_end":
			ends++
			if i != len(log)-1 {
				t.Errorf("%q follows agent_end", log[i+1])
			}
		}
	}
	if ends != 1 {
		t.Errorf("%d agent_end", ends)
	}
}

const busyScript = `
turns:
  - thinking: so
    text: all three
    toolCalls:
      - {id: A, name: a}
      - {id: B, name: b}
      - {id: C, name: c}
  - text: and one more
    toolCalls: [{id: D, name: a}]
  - text: done
  - text: done again
  - text: done at last
`

// disturbed runs a busy session in which something happens at event number n.
// It reports whether the run had so many events.
func disturbed(t *testing.T, mode tool.ExecutionMode, n int, happen func(*bench) error) bool {
	t.Helper()
	reached := false
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		runs := map[string]int{}
		work := func(name string, d time.Duration) fake {
			return fake{name: name, access: tool.AccessWrite, run: func(ctx context.Context, c tool.Call, u tool.Update) (tool.Result, error) {
				mu.Lock()
				if runs[c.ID]++; runs[c.ID] > 1 {
					t.Errorf("event %d: %s runs %d times", n, c.ID, runs[c.ID])
				}
				mu.Unlock()
				u(tool.TextResult("half"))
				select {
				case <-time.After(d):
					return tool.TextResult("did " + name), nil
				case <-ctx.Done():
					return tool.Result{}, context.Cause(ctx)
				}
			}}
		}
		b := newBench(t, busyScript, call.Options{}, agent.Options{ToolExecution: mode}, work("a", 3*time.Second), work("b", 2*time.Second), work("c", time.Second))
		b.Steer(prompt("steer 1"))
		b.Steer(prompt("steer 2"))
		b.FollowUp(prompt("follow 1"))
		var count atomic.Int64 // updates overlap
		b.Subscribe(func(context.Context, agent.Event) error {
			if count.Add(1)-1 != int64(n) {
				return nil
			}
			reached = true
			return happen(b)
		})
		s, err := b.Prompt(t.Context(), prompt("go"))
		if !reached {
			if err != nil || s.Reason != agent.StopDone {
				t.Errorf("undisturbed: %+v, %v", s, err)
			}
		}
		state := b.State()
		if state.Running || state.Streaming != nil || len(state.Pending) != 0 {
			t.Errorf("event %d: %+v", n, state)
		}
		paired(t, state.Messages)
		nested(t, b.log)
		// Each queued message is in exactly one place, in order.
		steering, followUps := b.ClearQueues()
		var order []string
		for _, m := range append(append(state.Messages, steering...), followUps...) {
			if u, ok := m.(*llm.User); ok && tool.TextOf(u.Content) != "go" {
				order = append(order, tool.TextOf(u.Content))
			}
		}
		if d := cmp.Diff([]string{"steer 1", "steer 2", "follow 1"}, order); d != "" {
			t.Errorf("LOOP-04: event %d: %s", n, d)
		}
	})
	return reached
}

// everywhere disturbs a run at each of its events in turn.
func everywhere(t *testing.T, happen func(*bench) error) {
	t.Helper()
	for _, mode := range []tool.ExecutionMode{tool.Parallel, tool.Sequential} {
		n := 0
		for disturbed(t, mode, n, happen) && !t.Failed() {
			n++
		}
		if n < 60 {
			t.Errorf("%s: a run of %d events was disturbed: too few to show something", mode, n)
		}
	}
}

func TestEVNT01ListenerFailsAtEachEvent(t *testing.T) {
	everywhere(t, func(*bench) error { return errors.New("boom") })
}

func TestEVNT01ListenerPanicsAtEachEvent(t *testing.T) {
	everywhere(t, func(*bench) error { panic("boom") })
}

// A listener that always fails, from some event on, still leaves whole
// conversations, and Prompt returns its error.
func TestEVNT01ListenerThatAlwaysFails(t *testing.T) {
	for n := range 30 {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, busyScript, call.Options{}, agent.Options{}, fake{name: "a"}, fake{name: "b"}, fake{name: "c"})
			count := 0
			b.Subscribe(func(context.Context, agent.Event) error {
				if count++; count > n {
					return fmt.Errorf("boom %d", count)
				}
				return nil
			})
			if s, err := b.Prompt(t.Context(), prompt("go")); err == nil || s.Reason != agent.StopError {
				t.Errorf("%d: %+v, %v", n, s, err)
			}
			paired(t, b.State().Messages)
			nested(t, b.log)
			if b.State().Running {
				t.Error("it still runs")
			}
		})
	}
}

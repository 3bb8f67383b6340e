package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
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

// chatty answers once with n pieces of text and a call, then with done.
type chatty struct{ pieces, requests int }

func (c *chatty) Stream(_ context.Context, _ llm.Request, emit func(llm.StreamEvent)) (*llm.Assistant, error) {
	b := llm.NewBuilder("chatty", "chatty", 1, emit)
	c.requests++
	for i := range c.pieces {
		b.Text("", fmt.Sprint(i%10))
	}
	b.TextEnd("")
	m := b.Message()
	m.StopReason = llm.StopEnd
	if c.requests == 1 {
		b.ToolCallStart("A", "A", "a")
		b.ToolCallEnd("A", "{}")
		m.StopReason = llm.StopToolUse
	}
	return m, nil
}

func busyAgent(t *testing.T, pieces int) *agent.Agent {
	t.Helper()
	list := func() []tool.Tool {
		return []tool.Tool{fake{name: "a", run: func(_ context.Context, _ tool.Call, u tool.Update) (tool.Result, error) {
			for i := range pieces {
				u(tool.TextResult(fmt.Sprint(i)))
				<-time.After(time.Millisecond)
			}
			return tool.TextResult("did a"), nil
		}}}
	}
	a, err := agent.New(agent.Options{Provider: &chatty{pieces: pieces}, Tools: list, Executor: call.New(call.Options{Tools: list})})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// drain reads what waits and then the end.
func drain(t *testing.T, f *agent.Feed) (events []agent.Event) {
	t.Helper()
	for {
		e, err := f.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

// A subscriber that never reads holds nothing up and loses nothing but repeated
// progress; what it keeps does not grow with that.
func TestEVNT05FeedThatNobodyReads(t *testing.T) {
	lengths := map[int]int{}
	for _, pieces := range []int{10, 10000} {
		synctest.Test(t, func(t *testing.T) {
			a := busyAgent(t, pieces)
			f := a.Feed()
			start := time.Now()
			if s, err := a.Prompt(t.Context(), prompt("go")); err != nil || s.Reason != agent.StopDone {
				t.Errorf("%+v, %v", s, err)
			}
			if took := time.Since(start); took != time.Duration(pieces)*time.Millisecond {
				t.Errorf("the run took %v: somebody waited", took)
			}
			f.Close()
			f.Close()
			events := drain(t, f)
			lengths[pieces] = len(events)
			var got []string
			text, partial := "", ""
			for _, e := range events {
				switch e := e.(type) {
				case agent.MessageUpdate:
					if e.Stream.Kind == llm.StreamTextDelta && text == "" {
						text = e.Stream.Delta
						if e.Message.Text() != text {
							t.Error("the piece and what has come so far differ")
						}
					}
				case agent.ToolExecutionUpdate:
					partial = tool.TextOf(e.Partial.Content)
					got = append(got, "tool_update")
				default:
					got = append(got, describe(e))
				}
			}
			if want := strings.Repeat("0123456789", pieces/10); text != want {
				t.Errorf("%d bytes of text came, of %d", len(text), len(want))
			}
			if want := fmt.Sprint(pieces - 1); partial != want {
				t.Errorf("the last partial result is %s, not %s", partial, want)
			}
			want := []string{
				"agent_start", "turn_start", "message_start user", "message_end user: go", "message_start assistant", "message_end assistant toolUse",
				"tool_start A", "tool_update", "tool_end A error=false", "message_start result A", "message_end result A: did a", "turn_end 1 results",
				"turn_start", "message_start assistant", "message_end assistant stop", "turn_end 0 results", "agent_end 4",
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if lengths[10] != lengths[10000] {
		t.Errorf("what waits grows with the progress: %v", lengths)
	}
}

// A subscriber that is slow sees everything, the end included, and one that
// leaves in the middle is forgotten.
func TestEVNT05SlowFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := busyAgent(t, 5000)
		slow, leaves := a.Feed(), a.Feed()
		seen := make(chan string, 1)
		go func() {
			for {
				<-time.After(time.Second)
				e, err := slow.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if _, ok := e.(agent.AgentEnd); ok {
					seen <- "the end"
					return
				}
			}
		}()
		go func() {
			defer leaves.Close()
			for range 3 {
				if _, err := leaves.Next(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}()
		start := time.Now()
		if _, err := a.Prompt(t.Context(), prompt("go")); err != nil || time.Since(start) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if what := <-seen; what != "the end" {
			t.Error(what)
		}
		slow.Close()
		if _, err := leaves.Next(t.Context()); err != nil && !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
}

func TestFeedEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := busyAgent(t, 1).Feed()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := f.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.AfterFunc(time.Second, f.Close)
		if _, err := f.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("%v", err)
		}
	})
}

func namedListener(ctx context.Context, _ agent.Event) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// A listener that does not return is named, and the run ends; results stay.
func TestEVNT05StuckListenerIsNamed(t *testing.T) {
	for _, event := range []string{"AgentStart", "MessageUpdate", "ToolExecutionStart", "ToolExecutionUpdate", "ToolExecutionEnd", "TurnEnd", "AgentEnd"} {
		for _, honest := range []bool{true, false} { // tells of its failure
			synctest.Test(t, func(t *testing.T) {
				a := busyAgent(t, 3)
				ends := 0
				a.Subscribe(func(_ context.Context, e agent.Event) error {
					if _, ok := e.(agent.AgentEnd); ok {
						ends++
					}
					return nil
				})
				var stuck atomic.Bool // updates overlap
				a.Subscribe(func(ctx context.Context, e agent.Event) error {
					if fmt.Sprintf("%T", e) != "agent."+event || stuck.Swap(true) {
						return nil
					}
					if err := namedListener(ctx, e); honest {
						return err
					}
					return nil
				})
				start := time.Now()
				s, err := a.Prompt(t.Context(), prompt("go"))
				var stuckError *agent.StuckListenerError
				if !errors.As(errors.Join(s.Err, err), &stuckError) || stuckError.Event != "agent."+event || !strings.Contains(stuckError.Listener, "TestEVNT05StuckListenerIsNamed") {
					t.Errorf("%s, honest %v: %+v, %v", event, honest, s, err)
				}
				if event != "AgentEnd" && s.Reason != agent.StopError {
					t.Errorf("%s, honest %v: the run ended as %s", event, honest, s.Reason)
				}
				if took := time.Since(start); took < time.Minute || took > 80*time.Second || ends != 1 {
					t.Errorf("%s: %v, %d ends", event, took, ends)
				}
				paired(t, a.State().Messages)
			})
		}
	}
}

// Many quick events, and a listener that takes its time now and then, are not
// taken for one that is stuck.
func TestPatientWithSlowListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := busyAgent(t, 20)
		a.Subscribe(func(context.Context, agent.Event) error {
			<-time.After(59 * time.Second)
			return nil
		})
		if s, err := a.Prompt(t.Context(), prompt("go")); err != nil || s.Reason != agent.StopDone {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

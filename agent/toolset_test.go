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

// offered notes which tools each request advertises.
type offered struct {
	llm.Provider
	requests []string
}

func (o *offered) Stream(ctx context.Context, req llm.Request, emit func(llm.StreamEvent)) (*llm.Assistant, error) {
	var names []string
	for _, d := range req.Tools {
		names = append(names, d.Name)
	}
	o.requests = append(o.requests, strings.Join(names, " "))
	return o.Provider.Stream(ctx, req, emit)
}

func loader(names ...string) fake {
	return fake{name: "load", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
		r := tool.TextResult("loaded")
		r.AddedToolNames = names
		return r, nil
	}}
}

// A tool that a result names is offered from the next request on, not to the
// calls beside it, and again when the conversation is loaded.
func TestAddedToolsAreActiveFromTheNextRequest(t *testing.T) {
	for _, mode := range []tool.ExecutionMode{tool.Parallel, tool.Sequential} {
		synctest.Test(t, func(t *testing.T) {
			registered := []tool.Tool{loader("deploy", "unheard of"), fake{name: "deploy"}, fake{name: "rest"}}
			toolbox := func() *call.Toolbox {
				b, err := call.NewToolbox(registered, "load")
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			box := toolbox()
			script := `
turns:
  - toolCalls: [{id: A, name: load}, {id: B, name: deploy}]
  - toolCalls: [{id: C, name: deploy}]
  - text: done
`
			b := newBench(t, script, call.Options{}, agent.Options{})
			heard := &offered{Provider: b.provider}
			a, err := agent.New(agent.Options{
				Provider: heard, Tools: box.Active, Executor: call.New(call.Options{Tools: box.Active}), Activate: box.Activate, ToolExecution: mode,
			})
			if err != nil {
				t.Fatal(err)
			}
			if s, err := a.Prompt(t.Context(), prompt("go")); err != nil || s.Reason != agent.StopDone || s.ToolCalls["deploy"] != 1 {
				t.Errorf("%+v, %v", s, err)
			}
			if d := cmp.Diff([]string{"load", "load deploy", "load deploy"}, heard.requests); d != "" {
				t.Error(d)
			}
			messages := a.State().Messages
			if r, ok := messages[3].(*llm.ToolResult); !ok || r.ToolCallID != "B" || !r.IsError {
				t.Errorf("the call beside the loader: %+v", messages[3])
			}
			again := toolbox()
			resumed, err := agent.New(agent.Options{Provider: heard, Tools: again.Active, Activate: again.Activate})
			if err != nil {
				t.Fatal(err)
			}
			if err := resumed.Load(messages); err != nil || len(again.Active()) != 2 {
				t.Errorf("%v, %d tools after Load", err, len(again.Active()))
			}
		})
	}
}

// A call that failed adds nothing.
func TestFailedCallAddsNoTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := loader("deploy")
		run := failing.run
		failing.run = func(ctx context.Context, c tool.Call, u tool.Update) (tool.Result, error) {
			r, _ := run(ctx, c, u)
			return r, errors.New("no index")
		}
		b := newBench(t, "turns:\n  - toolCalls: [{id: A, name: load}]\n  - text: done\n", call.Options{}, agent.Options{
			Activate: func(names []string) { t.Errorf("activated %v", names) },
		}, failing)
		if _, err := b.Prompt(t.Context(), prompt("go")); err != nil {
			t.Error(err)
		}
	})
}

// The outcome of a call is handed over when its own pipeline ends: before its end
// is told, and while a sibling stalls. A hook that fails ends the run visibly and
// costs no result.
func TestLOOP03OutcomeIsKeptBeforeSiblingsEnd(t *testing.T) {
	for _, failing := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			stalled := fake{name: "b", run: func(context.Context, tool.Call, tool.Update) (tool.Result, error) {
				<-release
				return tool.Result{}, nil
			}}
			type kept struct {
				text string
				at   time.Duration
			}
			start := time.Now()
			outcomes := map[string]kept{}
			var b *bench
			hook := func(_ context.Context, m *llm.ToolResult) error {
				b.mu.Lock()
				defer b.mu.Unlock()
				outcomes[m.ToolCallID] = kept{tool.TextOf(m.Content), time.Since(start)}
				for _, line := range b.log {
					if strings.HasPrefix(line, "tool_end "+m.ToolCallID) {
						t.Errorf("%s was told before it was kept", m.ToolCallID)
					}
				}
				if failing && m.ToolCallID == "A" {
					return errors.New("disk full")
				}
				return nil
			}
			b = newBench(t, threeCalls, call.Options{Grace: 5 * time.Second}, agent.Options{ToolOutcome: hook}, after("a", time.Second), stalled, after("c", 2*time.Second))
			time.AfterFunc(time.Minute, b.Abort)
			s, err := b.Prompt(t.Context(), prompt("go"))
			want := map[string]kept{
				"A": {"did a", time.Second}, "C": {"did c", 2 * time.Second},
				"B": {"b aborted, may still be running: it did not end within 5s: aborted: context canceled", 65 * time.Second},
			}
			if d := cmp.Diff(want, outcomes, cmp.AllowUnexported(kept{})); d != "" || err != nil {
				t.Errorf("%v, %s", err, d)
			}
			if failing && (s.Reason != agent.StopError || !strings.Contains(s.Err.Error(), "disk full")) || !failing && s.Reason != agent.StopAborted {
				t.Errorf("%+v", s)
			}
			paired(t, b.State().Messages)
			close(release)
		})
	}
}

package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/tools/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a tool whose behaviour a test gives.
type fake struct {
	name   string
	mode   tool.ExecutionMode
	access tool.Access
	run    func(ctx context.Context, c tool.Call, u tool.Update) (tool.Result, error)
}

func (f fake) Info() tool.Info {
	access := f.access
	if access == "" {
		access = tool.AccessRead
	}
	return tool.Info{Declaration: tool.Declaration{Name: f.name}, ExecutionMode: f.mode, Access: access}
}

func (f fake) Execute(ctx context.Context, c tool.Call, u tool.Update) (tool.Result, error) {
	if f.run == nil {
		return tool.TextResult("did " + f.name), nil
	}
	return f.run(ctx, c, u)
}

// after is a tool that takes a time and honours cancellation.
func after(name string, d time.Duration) fake {
	return fake{name: name, run: func(ctx context.Context, _ tool.Call, _ tool.Update) (tool.Result, error) {
		select {
		case <-time.After(d):
			return tool.TextResult("did " + name), nil
		case <-ctx.Done():
			return tool.Result{}, context.Cause(ctx)
		}
	}}
}

// bench is an agent on a script, with a transcript of its events.
type bench struct {
	*agent.Agent
	provider *scripted.Provider
	mu       sync.Mutex // updates overlap
	log      []string
}

func newBench(t *testing.T, script string, hooks call.Options, options agent.Options, list ...tool.Tool) *bench {
	t.Helper()
	s, err := scripted.Parse("test", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{provider: s.Provider(nil)}
	hooks.Tools = func() []tool.Tool { return list }
	options.Provider, options.Tools, options.Executor = checked{b.provider, t}, hooks.Tools, call.New(hooks)
	if b.Agent, err = agent.New(options); err != nil {
		t.Fatal(err)
	}
	b.Subscribe(func(_ context.Context, e agent.Event) error {
		if line := describe(e); line != "" {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.log = append(b.log, line)
		}
		return nil
	})
	return b
}

// describe is one line for an event; streamed pieces are left out.
func describe(e agent.Event) string {
	switch e := e.(type) {
	case agent.AgentStart:
		return "agent_start"
	case agent.AgentEnd:
		return fmt.Sprintf("agent_end %d", len(e.Messages))
	case agent.TurnStart:
		return "turn_start"
	case agent.TurnEnd:
		return fmt.Sprintf("turn_end %d results", len(e.ToolResults))
	case agent.MessageStart:
		return "message_start " + role(e.Message)
	case agent.MessageEnd:
		return "message_end " + role(e.Message) + summary(e.Message)
	case agent.ToolExecutionStart:
		return "tool_start " + e.ToolCallID
	case agent.ToolExecutionUpdate:
		return "tool_update " + e.ToolCallID + " " + tool.TextOf(e.Partial.Content)
	case agent.ToolExecutionEnd:
		return fmt.Sprintf("tool_end %s error=%v", e.ToolCallID, e.IsError)
	case agent.MessageUpdate:
	}
	return ""
}

func role(m llm.Message) string {
	switch m := m.(type) {
	case *llm.User:
		return "user"
	case *llm.Assistant:
		return "assistant"
	case *llm.ToolResult:
		return "result " + m.ToolCallID
	}
	return "?"
}

func summary(m llm.Message) string {
	switch m := m.(type) {
	case *llm.Assistant:
		return " " + string(m.StopReason)
	case *llm.ToolResult:
		return ": " + tool.TextOf(m.Content)
	case *llm.User:
		return ": " + tool.TextOf(m.Content)
	}
	return ""
}

func (b *bench) wants(t *testing.T, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(want), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if d := cmp.Diff(lines, b.log); d != "" {
		t.Errorf("transcript (-want +got):\n%s", d)
	}
}

func prompt(text string) llm.Message { return llm.UserText(text, 1) }

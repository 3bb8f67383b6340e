package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/tools/tool"
)

func TestHooksThatObserveAreIsolated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		reported := map[string]int{}
		hooks := &session.Hooks{Report: func(point string, _ error) {
			mu.Lock()
			defer mu.Unlock()
			reported[point]++
		}}
		order := ""
		session.OnTurnEnd.On(hooks, func(context.Context, agent.TurnEnd) error { order += "a"; return errors.New("no") })
		session.OnTurnEnd.On(hooks, func(context.Context, agent.TurnEnd) error { order += "b"; panic("no") })
		remove := session.OnTurnEnd.On(hooks, func(context.Context, agent.TurnEnd) error { order += "-"; return nil })
		session.OnTurnEnd.On(hooks, func(context.Context, agent.TurnEnd) error { order += "c"; return nil })
		remove()
		x := open(t, session.Options{Model: model(t, "turns:\n- text: a\n"), Hooks: hooks})
		if s := x.say(t, "go"); s.Reason != agent.StopDone || order != "abc" || reported["turn_end"] != 2 {
			t.Errorf("%s, %v: order %s, reported %v", s.Reason, s.Err, order, reported)
		}
	})
}

func TestListenerThatPanicsIsReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		reports := 0
		x := open(t, session.Options{Model: model(t, "turns:\n- text: a\n"), Hooks: &session.Hooks{Report: func(string, error) { reports++ }}})
		x.Subscribe(func(e session.Event) {
			if _, ok := e.(session.AgentSettled); ok {
				panic("no")
			}
		})
		if s := x.say(t, "go"); s.Reason != agent.StopDone || reports != 1 {
			t.Errorf("%s, %v, %d reports", s.Reason, s.Err, reports)
		}
	})
}

func TestInputHooksHandleAndChange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hooks := &session.Hooks{}
		session.OnInput.On(hooks, func(_ context.Context, in *session.Input) error { in.Text += "!"; return nil })
		session.OnInput.On(hooks, func(_ context.Context, in *session.Input) error {
			in.Text = "lost"
			return errors.New("what a hook wrote that failed does not count")
		})
		session.OnInput.On(hooks, func(_ context.Context, in *session.Input) error { in.Handled = in.Text == "mine!"; return nil })
		session.OnBeforeAgentStart.On(hooks, func(_ context.Context, b *session.BeforeStart) error {
			b.Messages = append(b.Messages, llm.UserText("context", 1))
			b.System = "system"
			return nil
		})
		system := ""
		session.OnBeforeProviderRequest.On(hooks, func(_ context.Context, r *llm.Request) error { system = r.System; return nil })
		x := open(t, session.Options{Model: model(t, "turns:\n- text: a\n"), Hooks: hooks})
		if d, err := x.Submit(t.Context(), session.Input{Text: "mine"}); d != session.Handled || err != nil {
			t.Error(d, err)
		}
		x.say(t, "go")
		if x.roles() != "user:go! user:context assistant:stop" || system != "system" {
			t.Errorf("the conversation is %s, the prompt %q", x.roles(), system)
		}
	})
}

func TestLOOP02ToolCallHooksAreValidatedAgain(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	for _, c := range []struct {
		name, want string
		hook       func(*session.ToolCall) error
		ran        string
	}{
		{"changes the input", "", func(c *session.ToolCall) error { c.Args = json.RawMessage(`{"n":2}`); return nil }, `{"n":2}`},
		{"breaks the input", "n", func(c *session.ToolCall) error { c.Args = json.RawMessage(`{"n":"x"}`); return nil }, ""},
		{"blocks", "not today", func(c *session.ToolCall) error { c.Block, c.Reason = true, "not today"; return nil }, ""},
		{"fails", "broken", func(*session.ToolCall) error { return errors.New("broken") }, ""},
		{"panics", "panicked", func(*session.ToolCall) error { panic("x") }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ran := ""
				d := define("count", nil)
				d.Info.Parameters = schema
				d.Execute = func(_ context.Context, call tool.Call, _ tool.Update, _ *session.Session) (tool.Result, error) {
					ran = string(call.Args)
					return tool.TextResult("ok"), nil
				}
				hooks := &session.Hooks{}
				session.OnToolCall.On(hooks, func(_ context.Context, call *session.ToolCall) error { return c.hook(call) })
				x := open(t, session.Options{
					Model: model(t, "turns:\n- toolCalls: [{name: count, arguments: {n: 1}}]\n- text: a\n"),
					Hooks: hooks, Definitions: []session.Definition{d},
				})
				x.say(t, "go")
				if ran != c.ran {
					t.Errorf("it ran with %q", ran)
				}
				result, _ := x.Messages()[2].Record.(*llm.ToolResult)
				if result == nil || result.IsError != (c.want != "") || !strings.Contains(tool.TextOf(result.Content), c.want) {
					t.Errorf("the result is %+v", result)
				}
			})
		})
	}
}

func TestResultAndMessageHooksReplace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		reports := 0
		hooks := &session.Hooks{Report: func(string, error) { reports++ }}
		session.OnToolResult.On(hooks, func(_ context.Context, r *session.ToolResult) error {
			r.Content = []tool.Content{tool.Text{Text: "patched"}}
			return nil
		})
		session.OnToolResult.On(hooks, func(context.Context, *session.ToolResult) error { return errors.New("skipped") })
		session.OnMessageEnd.On(hooks, func(_ context.Context, e *session.MessageEnd) error {
			switch m := e.Message.(type) {
			case *llm.User:
				e.Message = &llm.Assistant{} // of another kind: refused
			case *llm.Assistant:
				if m.Text() == "plain" {
					changed := *m
					changed.Content = []llm.Block{&llm.Text{Text: "better"}}
					e.Message = &changed
				}
			case *llm.ToolResult:
			}
			return nil
		})
		echo := define("echo", func(context.Context, *session.Session) (string, error) { return "raw", nil })
		x := open(t, session.Options{
			Model: model(t, "turns:\n- toolCalls: [{name: echo}]\n- expect: [{equals: patched}]\n  text: plain\n"),
			Hooks: hooks, Definitions: []session.Definition{echo},
		})
		x.say(t, "go")
		if text, _ := x.LastText(); text != "better" || !strings.HasPrefix(x.roles(), "user:go") || reports != 2 {
			t.Errorf("the last text is %q, the conversation %s, %d reports", text, x.roles(), reports)
		}
	})
}

func TestAskingWithoutAPerson(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var answers []session.Answer
		ask := define("ask", func(ctx context.Context, s *session.Session) (string, error) {
			a, err := s.Ask(ctx, session.Dialog{Kind: session.DialogConfirm, Title: "sure?", Timeout: 1})
			answers = append(answers, a)
			return "asked", err
		})
		x := open(t, session.Options{Model: model(t, "turns:\n- toolCalls: [{name: ask}]\n- toolCalls: [{name: ask}]\n- text: a\n"), Definitions: []session.Definition{ask}})
		x.Subscribe(func(e session.Event) {
			if _, ok := e.(session.Core); ok && len(answers) == 1 {
				x.SetAsker(func(ctx context.Context, _ session.Dialog) (session.Answer, error) {
					<-ctx.Done()
					return session.Answer{}, ctx.Err()
				})
			}
		})
		x.say(t, "go")
		if len(answers) != 2 || !answers[0].Cancelled || !answers[1].Cancelled {
			t.Errorf("the answers are %+v", answers)
		}
	})
}

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/tools/tool"
)

// model answers by a script.
func model(t *testing.T, script string) session.Model {
	t.Helper()
	s, err := scripted.Parse("test", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return session.Model{Provider: s.Provider(nil), Info: session.ModelInfo{Provider: "scripted", ID: "test", ContextWindow: 100000}}
}

// tester is a session with what it told.
type tester struct {
	*session.Session
	mu    sync.Mutex
	lines []string
}

// open makes a session and closes it at the end. Times do not depend on the machine:
// it is used in a synctest bubble.
func open(t *testing.T, o session.Options) *tester {
	t.Helper()
	s, err := session.New(o)
	if err != nil {
		t.Fatal(err)
	}
	x := &tester{Session: s}
	s.Subscribe(x.listen)
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return x
}

// listen notes an event in short: its type and what tells it apart.
func (x *tester) listen(e session.Event) {
	line, err := session.EventJSON(e)
	if err != nil {
		line = []byte(err.Error())
	}
	var o map[string]any
	_ = json.Unmarshal(line, &o)
	text, _ := o["type"].(string)
	for _, key := range []string{"willRetry", "aborted", "reason", "success", "attempt", "steering", "followUp", "delta", "level", "name"} {
		if v, ok := o[key]; ok {
			data, _ := json.Marshal(v)
			text += " " + key + "=" + string(data)
		}
	}
	if m, ok := o["message"].(map[string]any); ok && strings.HasPrefix(text, "message_") {
		text += " " + m["role"].(string)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if text != "message_update" {
		x.lines = append(x.lines, text)
	}
}

// told takes what was told since it was last asked.
func (x *tester) told() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	lines := x.lines
	x.lines = nil
	return lines
}

func (x *tester) say(t *testing.T, text string) agent.Summary {
	t.Helper()
	summary, err := x.Prompt(t.Context(), session.Input{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

// roles are those of the conversation, with the text of what a user said.
func (x *tester) roles() string {
	var list []string
	for _, i := range x.Messages() {
		switch m := i.Record.(type) {
		case *llm.User:
			list = append(list, "user:"+tool.TextOf(m.Content))
		case *llm.Assistant:
			list = append(list, "assistant:"+string(m.StopReason))
		case *llm.ToolResult:
			list = append(list, "result:"+m.ToolName)
		case *llm.BashExecution:
			list = append(list, "bash:"+m.Command)
		case *llm.CompactionSummary:
			list = append(list, "summary:"+m.Summary)
		case *llm.BranchSummary, *llm.Custom, *llm.Other:
			list = append(list, "other")
		}
	}
	return strings.Join(list, " ")
}

// bubble runs a test with a clock of its own.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestEventsOfARun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, session.Options{Model: model(t, "turns:\n- text: hi\n")})
		if s := x.say(t, "hello"); s.Reason != agent.StopDone {
			t.Errorf("the run ended by %s, %v", s.Reason, s.Err)
		}
		same(t, "events", x.told(), []string{
			"agent_start", "turn_start", "message_start user", "message_end user", "message_start assistant", "message_end assistant",
			"turn_end", `agent_end willRetry=false reason="done"`, "agent_settled aborted=false",
		})
		if text, _ := x.LastText(); text != "hi" {
			t.Errorf("the last text is %q", text)
		}
	})
}

func TestRetryIsToldAndSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, session.Options{Model: model(t, "turns:\n- error: {status: 529}\n- error: {status: 529}\n- text: hi\n"), Limits: agent.Limits{Turns: 5}})
		start := time.Now()
		s := x.say(t, "hello")
		if s.Reason != agent.StopDone || x.roles() != "user:hello assistant:error assistant:error assistant:stop" {
			t.Errorf("%s, %v: %s", s.Reason, s.Err, x.roles())
		}
		if waited := time.Since(start); waited < 6*time.Second || waited > 8*time.Second {
			t.Errorf("it waited %v", waited)
		}
		once := []string{"message_start assistant", "message_end assistant", "turn_end", `agent_end willRetry=true reason="error"`}
		again := []string{"agent_start", "turn_start"}
		want := append([]string{"agent_start", "turn_start", "message_start user", "message_end user"}, once...)
		want = append(append(append(want, "auto_retry_start attempt=1"), again...), once...)
		want = append(append(append(want, "auto_retry_start attempt=2"), again...), "message_start assistant", "auto_retry_end success=true attempt=2", "message_end assistant", "turn_end",
			`agent_end willRetry=false reason="done"`, "agent_settled aborted=false")
		same(t, "events", x.told(), want)
	})
}

func TestRetryEnds(t *testing.T) {
	script := "turns:\n- error: {status: 529}\n- error: {status: 529}\n- error: {status: 529}\n"
	for _, c := range []struct {
		name   string
		before func(x *tester)
		on     func(x *tester, attempt int)
		starts int
	}{
		{name: "when attempts are used up", starts: 1},
		{name: "when it is off", before: func(x *tester) { x.SetAutoRetry(false) }},
		{name: "when the retry is aborted", starts: 1, on: func(x *tester, _ int) { x.AbortRetry() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := open(t, session.Options{Model: model(t, script), Retry: agent.Retry{Attempts: 1}})
				if c.before != nil {
					c.before(x)
				}
				var started, ended []any
				x.Subscribe(func(e session.Event) {
					switch e := e.(type) {
					case session.AutoRetryStart:
						started = append(started, e)
						if c.on != nil {
							c.on(x, e.Attempt)
						}
					case session.AutoRetryEnd:
						ended = append(ended, e)
						if e.Success || e.FinalError == "" {
							t.Errorf("it ended by %+v", e)
						}
					default: // of the run
					}
				})
				s := x.say(t, "hello")
				if s.Reason != agent.StopError || s.Err == nil || len(started) != c.starts || len(ended) != c.starts {
					t.Errorf("%s, %v: started %v, ended %v", s.Reason, s.Err, started, ended)
				}
			})
		})
	}
}

func TestRetriesCountTheLimitsOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		echo := define("echo", func(context.Context, *session.Session) (string, error) { return "x", nil })
		script := "turns:\n- toolCalls: [{name: echo}]\n- error: {status: 529}\n- toolCalls: [{name: echo}]\n- text: never\n"
		x := open(t, session.Options{Model: model(t, script), Definitions: []session.Definition{echo}, Limits: agent.Limits{Turns: 2}})
		if s := x.say(t, "go"); s.Reason != agent.StopTurns || s.ToolCalls["echo"] != 2 {
			t.Errorf("%s after %v, %v", s.Reason, s.ToolCalls, s.Err)
		}
	})
}

// define is a tool without arguments.
func define(name string, do func(ctx context.Context, s *session.Session) (string, error)) session.Definition {
	return session.Definition{
		Info: tool.Info{Declaration: tool.Declaration{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}, Access: tool.AccessRead},
		Execute: func(ctx context.Context, _ tool.Call, _ tool.Update, s *session.Session) (tool.Result, error) {
			text, err := do(ctx, s)
			return tool.TextResult(text), err
		},
	}
}

func TestSteerAndFollowUpReachTheRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		started, release := make(chan struct{}), make(chan struct{})
		wait := define("wait", func(context.Context, *session.Session) (string, error) {
			close(started)
			<-release
			return "waited", nil
		})
		x := open(t, session.Options{
			Model:       model(t, "turns:\n- toolCalls: [{name: wait}]\n- text: one\n- text: two\n"),
			Definitions: []session.Definition{wait},
		})
		if d, err := x.Submit(t.Context(), session.Input{Text: "go"}); err != nil || d != session.Began {
			t.Fatal(d, err)
		}
		<-started
		if _, err := x.Submit(t.Context(), session.Input{Text: "which?"}); !errors.Is(err, session.ErrRunning) {
			t.Errorf("a prompt that names no queue: %v", err)
		}
		for _, in := range []session.Input{{Text: "after", Behavior: session.FollowUp}, {Text: "now", Behavior: session.Steer}} {
			if d, err := x.Submit(t.Context(), in); err != nil || d != session.Queued {
				t.Fatal(d, err)
			}
		}
		if n := x.State().Pending; n != 2 {
			t.Errorf("%d wait", n)
		}
		close(release)
		if err := x.WaitForIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := "user:go assistant:toolUse result:wait user:now assistant:stop user:after assistant:stop"; x.roles() != want {
			t.Errorf("the conversation is %s", x.roles())
		}
		var queues []string
		for _, line := range x.told() {
			if strings.HasPrefix(line, "queue_update") {
				queues = append(queues, line)
			}
		}
		same(t, "queues", queues, []string{
			`queue_update steering=[] followUp=["after"]`, `queue_update steering=["now"] followUp=["after"]`,
			`queue_update steering=[] followUp=["after"]`, `queue_update steering=[] followUp=[]`,
		})
	})
}

func TestLOOP04AbortKeepsWhatIsQueued(t *testing.T) {
	bubble(t, func(t *testing.T) {
		started := make(chan struct{}, 2)
		wait := define("wait", func(ctx context.Context, _ *session.Session) (string, error) {
			started <- struct{}{}
			<-ctx.Done()
			return "", ctx.Err()
		})
		x := open(t, session.Options{Model: model(t, "turns:\n- toolCalls: [{name: wait}]\n- text: late\n"), Definitions: []session.Definition{wait}})
		if _, err := x.Submit(t.Context(), session.Input{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		<-started
		if _, err := x.Queue(t.Context(), session.Input{Text: "then", Behavior: session.FollowUp}); err != nil {
			t.Fatal(err)
		}
		_, queued := x.ClearQueue()
		if err := x.Abort(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, "returned", queued, []string{"then"})
		if want := "user:go assistant:toolUse result:wait"; x.roles() != want {
			t.Errorf("the conversation is %s", x.roles())
		}
		lines := x.told()
		if last := lines[len(lines)-1]; last != "agent_settled aborted=true" {
			t.Errorf("the last event is %s", last)
		}
	})
}

func TestLOOP04RunGoesOnWithWhatStaysQueued(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, session.Options{Model: model(t, "turns:\n- text: never\n  delay: 1h\n- text: late\n")})
		if _, err := x.Submit(t.Context(), session.Input{Text: "go"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := x.Queue(t.Context(), session.Input{Text: "then", Behavior: session.FollowUp}); err != nil {
			t.Fatal(err)
		}
		if err := x.Abort(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := "user:go assistant:aborted user:then assistant:stop"; x.roles() != want {
			t.Errorf("the conversation is %s", x.roles())
		}
	})
}

func TestAbortAtOnceIsNotLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, session.Options{Model: model(t, "turns:\n- text: hi\n  delay: 1h\n")})
		for range 20 {
			if _, err := x.Submit(t.Context(), session.Input{Text: "go"}); err != nil {
				t.Fatal(err)
			}
			if err := x.Abort(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestBashIsKeptAndToldTheModel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []llm.Message
		hooks := &session.Hooks{}
		session.OnBeforeProviderRequest.On(hooks, func(_ context.Context, r *llm.Request) error { seen = r.Messages; return nil })
		session.OnUserBash.On(hooks, func(_ context.Context, b *session.UserBash) error {
			if b.Command == "forbidden" {
				return errors.New("no")
			}
			return nil
		})
		ran := 0
		x := open(t, session.Options{
			Model: model(t, "turns:\n- text: ok\n"), Hooks: hooks,
			Bash: func(_ context.Context, command string, output func(string)) (session.BashResult, error) {
				ran++
				output("some ")
				output(command)
				code := 3
				return session.BashResult{Output: "some " + command, ExitCode: &code}, nil
			},
		})
		if r, err := x.Bash(t.Context(), "b1", "ls", false); err != nil || r.Output != "some ls" {
			t.Fatal(r, err)
		}
		if _, err := x.Bash(t.Context(), "b2", "secret", true); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Bash(t.Context(), "b3", "forbidden", false); err == nil || ran != 2 {
			t.Errorf("a hook that fails let the command run: %v", err)
		}
		same(t, "events", x.told()[:2], []string{`bash_execution_update delta="some "`, `bash_execution_update delta="ls"`})
		x.say(t, "go")
		if x.roles() != "bash:ls bash:secret user:go assistant:stop" {
			t.Errorf("the conversation is %s", x.roles())
		}
		text := ""
		for _, m := range seen {
			if u, ok := m.(*llm.User); ok {
				text += tool.TextOf(u.Content)
			}
		}
		if !strings.Contains(text, "some ls") || strings.Contains(text, "secret") || !strings.Contains(text, "3") {
			t.Errorf("the model reads %q", text)
		}
	})
}

func TestBashDuringARunIsAddedBehindIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		run := define("run", func(ctx context.Context, s *session.Session) (string, error) {
			_, err := s.Bash(ctx, "", "ls", false)
			return "ran", err
		})
		x := open(t, session.Options{
			Model: model(t, "turns:\n- toolCalls: [{name: run}]\n- text: ok\n"), Definitions: []session.Definition{run},
			Bash: func(context.Context, string, func(string)) (session.BashResult, error) {
				return session.BashResult{Output: "x"}, nil
			},
		})
		x.say(t, "go")
		if x.roles() != "user:go assistant:toolUse result:run assistant:stop bash:ls" {
			t.Errorf("the conversation is %s", x.roles())
		}
	})
}

func TestNameModelAndThinking(t *testing.T) {
	bubble(t, func(t *testing.T) {
		first := model(t, "turns:\n- text: a\n")
		other := session.ModelInfo{Provider: "scripted", ID: "other", Reasoning: true}
		x := open(t, session.Options{
			Model: first, Models: func() []session.ModelInfo { return []session.ModelInfo{first.Info, other} },
			OpenModel: func(context.Context, string, string) (session.Model, error) {
				m := model(t, "turns:\n- text: b\n")
				m.Info = other
				return m, nil
			},
		})
		if err := x.SetName(t.Context(), "work"); err != nil {
			t.Fatal(err)
		}
		if err := x.SetThinking(t.Context(), "high"); err == nil || !strings.Contains(err.Error(), "high") {
			t.Errorf("a level that the model lacks: %v", err)
		}
		if _, err := x.SetModel(t.Context(), "x", "y"); err == nil || !strings.Contains(err.Error(), "x/y") {
			t.Errorf("a model that is not there: %v", err)
		}
		if m, ok, err := x.CycleModel(t.Context()); err != nil || !ok || m.ID != "other" {
			t.Fatal(m, ok, err)
		}
		if level, ok, err := x.CycleThinking(t.Context()); err != nil || !ok || level != "off" {
			t.Fatal(level, ok, err)
		}
		if err := x.SetThinking(t.Context(), "high"); err != nil {
			t.Fatal(err)
		}
		x.say(t, "go")
		if text, _ := x.LastText(); text != "b" {
			t.Errorf("the answer is %q", text)
		}
		state := x.State()
		if state.Name != "work" || state.Thinking != "high" || state.Model.ID != "other" {
			t.Errorf("the state is %+v", state)
		}
		var kinds []string
		for _, e := range x.Log().Entries() {
			kinds = append(kinds, e.Kind())
		}
		same(t, "entries", kinds, []string{
			"model_change", "session_info", "model_change", "thinking_level_change", "thinking_level_change", "message", "message",
		})
	})
}

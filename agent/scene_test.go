package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/tools/tool"
)

// scene is an agent whose surroundings a text describes: a model's script, tools,
// hooks, listeners and what happens when. testdata/rules/README says how it is
// written. What it hears becomes lines with the time at which it heard them.
type scene struct {
	*agent.Agent
	t       *testing.T
	start   time.Time
	options agent.Options
	hooks   call.Options
	tools   []tool.Tool
	acts    []act // of listeners and hooks
	runs    []string
	heard   int  // number of listeners
	trace   bool // also what tools do
	stream  bool // also the pieces of answers
	state   bool // also what the state shows

	mu     sync.Mutex // updates overlap
	events []string
}

// act is something that happens when a line that begins with on is heard by a
// listener, or when a hook is asked about a tool.
type act struct {
	who, on, do string
}

func newScene(t *testing.T, sections map[string]string) *scene {
	t.Helper()
	script, err := scripted.Parse("model", []byte(sections["model"]))
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, start: time.Now(), heard: 1}
	s.options.Retry.Attempts = -1
	for line := range lines(sections["tools"]) {
		s.tools = append(s.tools, s.tool(line))
	}
	for line := range lines(sections["setup"]) {
		s.setup(line)
	}
	s.hooks.Tools = func() []tool.Tool { return s.tools }
	s.hooks.Grace = 5 * time.Second
	for _, a := range s.acts {
		s.hook(a)
	}
	s.options.Provider, s.options.Tools, s.options.Executor = s.asked(checked{script.Provider(nil), t}), s.hooks.Tools, call.New(s.hooks)
	if s.Agent, err = agent.New(s.options); err != nil {
		t.Fatal(err)
	}
	for i := range s.heard {
		s.listen(fmt.Sprint("listener ", i+1))
	}
	for line := range lines(sections["setup"]) {
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "at":
			d, do, _ := strings.Cut(rest, ": ")
			time.AfterFunc(s.duration(d), func() {
				s.say("%s", "* "+do)
				_ = s.do(context.Background(), do, nil) // what fails here has no one to tell
			})
		case "queue":
			if err := s.do(t.Context(), rest, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// lines yields what is neither empty nor a comment.
func lines(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for scan := bufio.NewScanner(strings.NewReader(text)); scan.Scan(); {
			if line := strings.TrimSpace(scan.Text()); line != "" && !strings.HasPrefix(line, "#") && !yield(line) {
				return
			}
		}
	}
}

func (s *scene) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// setup reads one line of the section of that name.
func (s *scene) setup(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "sequential":
		s.options.ToolExecution = tool.Sequential
	case "listeners":
		_, _ = fmt.Sscan(rest, &s.heard)
	case "trace":
		s.trace = true
	case "stream":
		s.stream = true
	case "state":
		s.state = true
	case "all":
		s.options.SteerAll, s.options.FollowUpAll = true, true
	case "retry":
		s.options.Retry = agent.Retry{Attempts: 2, Delay: time.Second}
	case "turns":
		_, _ = fmt.Sscan(rest, &s.options.Limits.Turns)
	case "context":
		s.options.TransformContext = func(_ context.Context, messages []llm.Message) ([]llm.Message, error) {
			return append(messages, prompt("it is late")), nil
		}
	case "outcomes":
		s.options.ToolOutcome = func(_ context.Context, m *llm.ToolResult) error {
			s.say("  outcome of %s is kept", m.ToolCallID)
			return nil
		}
	case "prepare":
		s.options.PrepareNextTurn = func(ctx context.Context) error {
			s.say("  PrepareNextTurn")
			return s.do(ctx, rest, nil)
		}
	case "stop":
		s.options.ShouldStopAfterTurn = func(end agent.TurnEnd) bool {
			s.say("  ShouldStopAfterTurn")
			return end.Message.Text() == rest
		}
	case "run":
		s.runs = append(s.runs, rest)
	case "at", "queue": // when the agent is there
	case "listener", "input", "before", "after":
		on, do, ok := strings.Cut(rest, ": ")
		if !ok {
			s.t.Fatalf("%q says nothing to do", line)
		}
		if verb == "listener" {
			verb, on, _ = strings.Cut(on, " on ")
			verb = "listener " + verb
		}
		s.acts = append(s.acts, act{verb, on, do})
	default:
		s.t.Fatalf("there is no %q", verb)
	}
}

// hook adds a hook of the pipeline.
func (s *scene) hook(a act) {
	switch a.who {
	case "input":
		s.hooks.Input = append(s.hooks.Input, func(ctx context.Context, r call.Request) (json.RawMessage, error) {
			if r.Name != a.on {
				return nil, nil
			}
			s.say("  input hook of %s %s", r.ID, r.Args)
			if strings.HasPrefix(a.do, "{") {
				return json.RawMessage(a.do), nil
			}
			return nil, s.do(ctx, a.do, nil)
		})
	case "before":
		s.hooks.Before = append(s.hooks.Before, func(ctx context.Context, r call.Request) (call.Decision, error) {
			if r.Name != a.on {
				return call.Decision{}, nil
			}
			s.say("  before hook of %s %s", r.ID, r.Args)
			if reason, ok := strings.CutPrefix(a.do, "block "); ok {
				reason, terminate := strings.CutSuffix(reason, " and terminate")
				return call.Decision{Block: true, Reason: reason, Terminate: terminate}, nil
			}
			return call.Decision{}, s.do(ctx, a.do, nil)
		})
	case "after":
		s.hooks.After = append(s.hooks.After, func(ctx context.Context, r call.Request, _ tool.Result, isError bool) (*call.Patch, error) {
			if r.Name != a.on {
				return nil, nil
			}
			s.say("  after hook of %s error=%v", r.ID, isError)
			var patch call.Patch
			yes, no := true, false
			switch verb, rest, _ := strings.Cut(a.do, " "); verb {
			case "say":
				patch.Content = &[]tool.Content{tool.Text{Text: rest}}
			case "terminate":
				patch.Terminate = &yes
			case "forgive":
				patch.IsError = &no
			default:
				return nil, s.do(ctx, a.do, nil)
			}
			return &patch, nil
		})
	}
}

// listen adds a listener that writes down what it hears; the first one's lines
// bear no name.
func (s *scene) listen(who string) {
	var unsubscribe func()
	unsubscribe = s.Subscribe(func(ctx context.Context, e agent.Event) error {
		line := transcribe(e)
		if _, ok := e.(agent.MessageUpdate); ok && !s.stream {
			return nil
		}
		if s.state {
			line += s.shown()
		}
		if who == "listener 1" {
			s.say("%s", line)
		} else {
			s.say("%s: %s", who, line)
		}
		for _, a := range s.acts {
			if a.who != who || !strings.HasPrefix(line, a.on) {
				continue
			}
			if a.do == "unsubscribe" {
				unsubscribe()
				continue
			}
			if err := s.do(ctx, a.do, e); err != nil {
				return err
			}
			if strings.HasPrefix(a.do, "wait") {
				s.say("%s has waited", who)
			}
		}
		return nil
	})
}

// do does one thing. e is what a listener heard.
func (s *scene) do(ctx context.Context, what string, e agent.Event) error {
	verb, rest, _ := strings.Cut(what, " ")
	switch verb {
	case "", "pass":
	case "abort":
		s.Abort()
	case "steer":
		s.Steer(prompt(rest))
	case "follow":
		s.FollowUp(prompt(rest))
	case "clear":
		steering, followUps := s.ClearQueues()
		s.say("  cleared: %d steering, %d follow-ups", len(steering), len(followUps))
	case "fail":
		return errors.New(rest)
	case "panic":
		panic(rest)
	case "idle":
		go func() {
			_ = s.WaitForIdle(context.WithoutCancel(ctx))
			s.say("WaitForIdle returns, running: %v", s.State().Running)
		}()
	case "prompt":
		_, err := s.Prompt(ctx, prompt(rest))
		s.say("  a second prompt: %v", err)
	case "wait":
		select {
		case <-time.After(s.duration(rest)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case "replace":
		if m, ok := e.(agent.MessageEnd); ok {
			if answer, ok := m.Message.(*llm.Assistant); ok {
				answer.Content[0] = &llm.Text{Text: rest}
			}
		}
	default:
		s.t.Errorf("nobody knows how to %q", what)
	}
	return nil
}

// say adds a line with the time.
func (s *scene) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, strings.TrimRight(fmt.Sprintf("%6s  ", time.Since(s.start))+fmt.Sprintf(format, args...), " "))
}

// play does the runs of the scene, by default one prompt.
func (s *scene) play() string {
	if len(s.runs) == 0 {
		s.runs = []string{"prompt go"}
	}
	for _, run := range s.runs {
		ctx, cancel := context.WithCancel(s.t.Context())
		var summary agent.Summary
		var err error
		verb, rest, _ := strings.Cut(run, " ")
		switch verb {
		case "prompt":
			var messages []llm.Message
			for text := range strings.SplitSeq(rest, " / ") {
				messages = append(messages, prompt(text))
			}
			summary, err = s.Prompt(ctx, messages...)
		case "cancelled":
			cancel()
			summary, err = s.Prompt(ctx, prompt(rest))
		case "continue":
			summary, err = s.Continue(ctx)
		default:
			s.t.Fatalf("there is no run %q", run)
		}
		cancel()
		synctest.Wait() // who waits for the end is heard first
		s.say("%s ends: %s", verb, verdict(summary, err))
	}
	<-time.After(24 * time.Hour) // what comes late is heard too
	return strings.Join(s.events, "\n") + "\n"
}

func verdict(summary agent.Summary, err error) string {
	text := fmt.Sprintf("%s, %d turns, tools ran %v, failed %d", summary.Reason, summary.Turns, summary.ToolCalls, summary.ToolFails)
	if summary.Err != nil {
		text += "; cause: " + strings.ReplaceAll(summary.Err.Error(), "\n", "; ")
	}
	if err != nil {
		text += "; error: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return text
}

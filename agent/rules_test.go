package agent_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

var update = flag.Bool("update", false, "write the golden transcripts")

// Each file of testdata/rules is one rule of the events with the scene that shows
// it and the whole transcript of what happens.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.txt")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d rules, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			body, want, ok := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "-- transcript --\n")
			if !ok || !strings.HasPrefix(body, "# ") {
				t.Fatal("a rule begins with a comment and ends with its transcript")
			}
			var got string
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, sections(body))
				got = s.play()
				paired(t, s.State().Messages)
				balanced(t, got)
			})
			if *update {
				if err := os.WriteFile(file, []byte(body+"-- transcript --\n"+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
				t.Errorf("%s\ntranscript (-want +got):\n%s", body[:strings.Index(body, "\n")], d)
			}
		})
	}
}

// docs/events.md lists every rule, so that nobody looks for its proof.
func TestRulesAreListed(t *testing.T) {
	text, err := os.ReadFile("../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/rules/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".txt"); !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/events.md does not list %s", name)
		}
	}
}

// balanced checks that what starts ends, once and within its turn, by its id.
func balanced(t *testing.T, transcript string) {
	t.Helper()
	pending := map[string]bool{}
	runs, turns := 0, 0
	for line := range lines(transcript) {
		fields := append(strings.Fields(line), "", "")
		id := fields[2]
		switch fields[1] {
		case "agent_start":
			runs++
		case "turn_start":
			turns++
		case "tool_execution_start":
			if pending[id] {
				t.Errorf("%s starts twice", id)
			}
			pending[id] = true
		case "tool_execution_update", "tool_execution_end":
			if !pending[id] {
				t.Errorf("%s without a start: %s", id, line)
			}
			pending[id] = fields[1] == "tool_execution_update"
		case "turn_end":
			turns--
			for id, open := range pending {
				if open {
					t.Errorf("a turn ends while %s runs", id)
				}
			}
		case "agent_end":
			runs--
		}
	}
	if runs != 0 || turns != 0 {
		t.Errorf("%d runs and %d turns have no end", runs, turns)
	}
}

// sections splits a text at lines like "-- name --".
func sections(text string) map[string]string {
	list := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if s := strings.TrimSpace(line); strings.HasPrefix(s, "-- ") && strings.HasSuffix(s, " --") {
			name = strings.Trim(s, "- ")
			continue
		}
		list[name] += line
	}
	return list
}

// transcribe is one line for an event, by its name in the protocol.
func transcribe(e agent.Event) string {
	switch e := e.(type) {
	case agent.AgentStart:
		return "agent_start"
	case agent.AgentEnd:
		return fmt.Sprintf("agent_end %s, %d messages", e.Reason, len(e.Messages))
	case agent.TurnStart:
		return "turn_start"
	case agent.TurnEnd:
		var ids []string
		for _, r := range e.ToolResults {
			ids = append(ids, r.ToolCallID)
		}
		return fmt.Sprintf("turn_end %s %v %s", e.Message.StopReason, ids, e.Message.Text())
	case agent.MessageStart:
		return "message_start " + role(e.Message)
	case agent.MessageUpdate:
		return fmt.Sprintf("message_update %s %d %s", e.Stream.Kind, e.Stream.ContentIndex, e.Stream.Delta+e.Stream.Content)
	case agent.MessageEnd:
		return "message_end " + role(e.Message) + content(e.Message)
	case agent.ToolExecutionStart:
		return fmt.Sprintf("tool_execution_start %s %s", e.ToolCallID, e.Args)
	case agent.ToolExecutionUpdate:
		return fmt.Sprintf("tool_execution_update %s %s", e.ToolCallID, tool.TextOf(e.Partial.Content))
	case agent.ToolExecutionEnd:
		line := fmt.Sprintf("tool_execution_end %s error=%v", e.ToolCallID, e.IsError)
		if e.EffectiveArgs != nil {
			line += " ran " + string(e.EffectiveArgs)
		}
		return line
	}
	return "?"
}

func content(m llm.Message) string {
	switch m := m.(type) {
	case *llm.Assistant:
		text := " " + string(m.StopReason) + " " + m.Text()
		if m.ErrorMessage != "" {
			text += " (" + strings.ReplaceAll(m.ErrorMessage, "\n", "; ") + ")"
		}
		return text
	case *llm.ToolResult:
		text := ": " + strings.ReplaceAll(tool.TextOf(m.Content), "\n", " / ")
		if m.Details != nil {
			text += fmt.Sprintf(" %v", m.Details)
		}
		return text
	case *llm.User:
		return ": " + tool.TextOf(m.Content)
	}
	return ""
}

// shown is what the state says.
func (s *scene) shown() string {
	state := s.State()
	text := fmt.Sprintf("   [%d messages, pending %v", len(state.Messages), state.Pending)
	if state.Streaming != nil {
		text += ", streaming"
	}
	if n := len(state.Steering) + len(state.FollowUps); n > 0 {
		text += fmt.Sprintf(", %d queued", n)
	}
	return text + "]"
}

// asked writes down each request.
func (s *scene) asked(p llm.Provider) llm.Provider { return sceneProvider{p, s} }

type sceneProvider struct {
	llm.Provider
	scene *scene
}

func (p sceneProvider) Stream(ctx context.Context, req llm.Request, emit func(llm.StreamEvent)) (*llm.Assistant, error) {
	p.scene.say("  the model is asked, %d messages", len(req.Messages))
	return p.Provider.Stream(ctx, req, emit)
}

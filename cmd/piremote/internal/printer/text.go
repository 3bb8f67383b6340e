package printer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// resultLines is how much of a tool's result a step shows.
const resultLines = 8

// Text tells a run step by step. Untrusted text is cleaned of what would steer
// a terminal (hazard EVNT-03).
type Text struct {
	mu sync.Mutex
	w  io.Writer
}

// NewText returns a printer that writes to w.
func NewText(w io.Writer) *Text { return &Text{w: w} }

// Listen is an agent.Listener. A writer that fails ends the run.
func (p *Text) Listen(_ context.Context, e agent.Event) error {
	switch e := e.(type) {
	case agent.MessageEnd:
		if m, ok := e.Message.(*llm.Assistant); ok {
			return p.answer(m)
		}
	case agent.ToolExecutionStart:
		return p.print("\n> %s %s\n", textout.Line(e.ToolName), arguments(e.ToolName, e.Args))
	case agent.ToolExecutionEnd:
		return p.result(e)
	case agent.AgentStart, agent.AgentEnd, agent.TurnStart, agent.TurnEnd, agent.MessageStart, agent.MessageUpdate,
		agent.ToolExecutionUpdate:
	}
	return nil
}

func (p *Text) print(format string, args ...any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := fmt.Fprintf(p.w, format, args...)
	return err
}

func (p *Text) answer(m *llm.Assistant) error {
	if text := strings.TrimSpace(m.Text()); text != "" {
		if err := p.print("\n%s\n", textout.Clean(text)); err != nil {
			return err
		}
	}
	if m.ErrorMessage != "" {
		return p.print("\n! %s\n", textout.Clean(m.ErrorMessage))
	}
	return nil
}

func (p *Text) result(e agent.ToolExecutionEnd) error {
	text := tool.TextOf(e.Result.Content)
	if d, ok := e.Result.Details.(tools.EditDetails); ok && !e.IsError {
		text += "\n" + strings.TrimRight(d.Diff, "\n")
	}
	mark := "  "
	if e.IsError {
		mark = "! "
	}
	lines := strings.Split(strings.TrimRight(textout.Clean(text), "\n"), "\n")
	more := len(lines) - resultLines
	if more > 1 && e.ToolName != "edit" {
		lines = append(lines[:resultLines], fmt.Sprintf("... %d more lines", more))
	}
	return p.print("%s%s\n", mark, strings.Join(lines, "\n"+mark))
}

// renderers spell the arguments of tools for people; other tools show JSON.
func renderers() map[string]func(map[string]any) string {
	one := func(key string) func(map[string]any) string {
		return func(a map[string]any) string { return fmt.Sprint(a[key]) }
	}
	return map[string]func(map[string]any) string{
		"bash":       one("command"),
		"powershell": one("command"),
		"write":      one("path"),
		"edit":       one("path"),
	}
}

func arguments(name string, raw json.RawMessage) string {
	var object map[string]any
	if render := renderers()[name]; render != nil && json.Unmarshal(raw, &object) == nil {
		return textout.Line(render(object))
	}
	return textout.Line(string(raw))
}

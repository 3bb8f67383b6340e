package printer

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session"
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

// Listen is a session.Listener. What can't be written is lost.
func (p *Text) Listen(e session.Event) {
	if core, ok := e.(session.Core); ok {
		p.tell(core.Event)
	}
}

func (p *Text) tell(e agent.Event) {
	switch e := e.(type) {
	case agent.MessageEnd:
		if m, ok := e.Message.(*llm.Assistant); ok {
			p.answer(m)
		}
	case agent.ToolExecutionStart:
		p.print("\n> %s %s\n", textout.Line(e.ToolName), arguments(e.ToolName, e.Args))
	case agent.ToolExecutionEnd:
		p.result(e)
	case agent.AgentStart, agent.AgentEnd, agent.TurnStart, agent.TurnEnd, agent.MessageStart, agent.MessageUpdate,
		agent.ToolExecutionUpdate:
	}
}

func (p *Text) print(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.w, format, args...)
}

func (p *Text) answer(m *llm.Assistant) {
	if text := strings.TrimSpace(m.Text()); text != "" {
		p.print("\n%s\n", textout.Clean(text))
	}
	if m.ErrorMessage != "" {
		p.print("\n! %s\n", textout.Clean(m.ErrorMessage))
	}
}

func (p *Text) result(e agent.ToolExecutionEnd) {
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
	p.print("%s%s\n", mark, strings.Join(lines, "\n"+mark))
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

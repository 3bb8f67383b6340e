package export

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

//go:embed page.html
var source string

var page = template.Must(template.New("page").Parse(source))

// document is what the page shows.
type document struct {
	Title, ID, Workspace, Cwd, Started string
	Input, Output                      int64
	Cost                               string
	Blocks                             []block
}

// block is a part of the page: of a message, or something that happened.
type block struct {
	ID    string // of the entry, for links
	Class string // user, agent, thinking, call, result, failure, event
	Title string
	Fold  bool // closed until it is clicked
	Time  string
	Label string
	Parts []fragment
}

// fragment is a text or an image.
type fragment struct {
	Text  string
	Image template.URL
}

// HTML writes the way from the root of a session to an entry, with all that a
// compaction has replaced for the model since.
func HTML(w io.Writer, l *store.Log, leaf string) error {
	if _, ok := l.Entry(leaf); !ok && leaf != "" {
		return fmt.Errorf("%w: %q", store.ErrNoEntry, leaf)
	}
	h := l.Header()
	d := document{Title: l.Name(), ID: h.ID, Cwd: h.Cwd, Started: clock(h.Time)}
	if d.Title == "" {
		d.Title = "Session of " + clock(h.Time)
	}
	if h.Workspace != nil {
		d.Workspace = h.Workspace.Label
	}
	labels, cost := l.Labels(), 0.0
	for _, e := range l.Branch(leaf) {
		blocks := blocksOf(e)
		for i := range blocks {
			blocks[i].ID, blocks[i].Time = e.Meta().ID, clock(e.Meta().Time)
			blocks[i].Label = labels[e.Meta().ID]
		}
		d.Blocks = append(d.Blocks, blocks...)
		u := usageOf(e)
		d.Input, d.Output, cost = d.Input+u.Input+u.CacheRead+u.CacheWrite, d.Output+u.Output, cost+u.Cost
	}
	if cost > 0 {
		d.Cost = fmt.Sprintf("$%.4f", cost)
	}
	if err := page.Execute(w, d); err != nil {
		return fmt.Errorf("the session can't be written as HTML: %w", err)
	}
	return nil
}

func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func usageOf(e store.Entry) tool.Usage {
	var u *tool.Usage
	switch e := e.(type) {
	case store.Message:
		switch m := e.Message.(type) {
		case *llm.Assistant:
			return m.Usage
		case *llm.ToolResult:
			u = m.Usage
		case *llm.User, *llm.BashExecution, *llm.Custom, *llm.BranchSummary, *llm.CompactionSummary, *llm.Other:
		}
	case store.Usage:
		u = e.Usage
	case store.Compaction:
		u = e.Usage
	case store.BranchSummary:
		u = e.Usage
	case store.ModelChange, store.ThinkingLevelChange, store.ContextEdit, store.Custom, store.CustomMessage, store.Label, store.SessionInfo, store.Unknown:
	}
	if u == nil {
		return tool.Usage{}
	}
	return *u
}

// shown says whether images of a type are shown: those that can hold no script.
func shown(mimeType string) bool {
	switch mimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

func fragments(content []tool.Content) []fragment {
	var list []fragment
	for _, c := range content {
		switch c := c.(type) {
		case tool.Text:
			list = append(list, fragment{Text: c.Text})
		case tool.Image:
			if !shown(c.MIMEType) {
				list = append(list, fragment{Text: fmt.Sprintf("(an image of type %q, which is not shown)", c.MIMEType)})
				continue
			}
			data := "data:" + c.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(c.Data)
			list = append(list, fragment{Image: template.URL(data)}) //nolint:gosec // a type of the list above, and base64
		}
	}
	return list
}

package export_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/export"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostile is text that tries to be more than text, in each place where a browser
// might take it for that.
const hostile = `</pre></details></title></style><script>alert(1)</script><img src=x onerror=alert(2)>"' onmouseover="alert(3)` +
	`<!-- --><![CDATA[ {{.}} javascript:alert(4) &lt;b&gt; ` + "\x00\u202e\u2028`"

func hostileSession(t *testing.T) *store.Log {
	t.Helper()
	n := 0
	l := store.InMemory(store.Options{
		ID: "id", Cwd: hostile, Workspace: &store.Workspace{Label: hostile},
		Clock: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		NewID: func() string { n++; return fmt.Sprintf("e%d%s", n, hostile) },
	})
	text := tool.Text{Text: hostile}
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	for _, e := range []store.Entry{
		store.ModelChange{Provider: hostile, ModelID: hostile},
		store.ThinkingLevelChange{ThinkingLevel: hostile},
		store.Message{Message: &llm.User{Content: []tool.Content{
			text,
			tool.Image{Data: []byte("pixels"), MIMEType: "image/png"},
			tool.Image{Data: []byte("<svg onload=alert(5)>"), MIMEType: "image/svg+xml"},
			tool.Image{Data: []byte("x"), MIMEType: `image/png"onload="alert(6)`},
		}}},
		store.Message{Message: &llm.Assistant{
			Content: []llm.Block{
				&llm.Thinking{Text: hostile}, &llm.Text{Text: hostile}, &llm.ToolCall{ID: hostile, Name: hostile, Arguments: json.RawMessage(`{"a":` + string(quoted) + `}`)},
				&llm.ToolCall{Name: "cut", Arguments: json.RawMessage(hostile)},
			},
			Provider: hostile, Model: hostile, StopReason: llm.StopReason(hostile), ErrorMessage: hostile, Usage: tool.Usage{Input: 7, Output: 5, Cost: 0.25},
		}},
		store.Message{Message: &llm.ToolResult{ToolCallID: hostile, ToolName: hostile, Content: []tool.Content{text}}},
		store.Message{Message: &llm.ToolResult{ToolCallID: hostile, ToolName: hostile, Content: []tool.Content{text}, IsError: true}},
		store.Message{Message: &llm.BashExecution{Command: hostile, Output: hostile}},
		store.CustomMessage{CustomType: hostile, Content: quoted, Display: true},
		store.CustomMessage{CustomType: "hidden", Content: json.RawMessage(`"hidden"`)},
		store.Compaction{Summary: hostile},
		store.BranchSummary{Summary: hostile},
		store.SessionInfo{Name: hostile},
	} {
		added, err := l.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = added.Meta().ID
		}
	}
	if _, err := l.Append(store.Label{TargetID: first, Label: hostile}); err != nil {
		t.Fatal(err)
	}
	return l
}

// A browser finds only our own elements and attributes, no script, and no address
// but those of images that are in the page.
func TestHostileContentStaysText(t *testing.T) {
	l := hostileSession(t)
	var out strings.Builder
	if err := export.HTML(&out, l, l.Leaf()); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(strings.NewReader(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	elements := map[string]int{}
	var texts strings.Builder
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			elements[n.Data]++
			for _, a := range n.Attr {
				check(t, n.Data, a)
			}
		case html.TextNode:
			if n.Parent.Data != "style" {
				texts.WriteString(n.Data)
			}
		case html.CommentNode:
			t.Errorf("a comment: %q", n.Data)
		case html.ErrorNode, html.DocumentNode, html.DoctypeNode, html.RawNode:
		}
	}
	for name := range elements {
		if !strings.Contains(" html head meta title style body h1 dl dt dd section span time details summary pre p img ", " "+name+" ") {
			t.Errorf("there is an element %s", name)
		}
	}
	if elements["img"] != 1 || elements["section"] < 12 || elements["title"] != 1 {
		t.Errorf("%v", elements)
	}
	if n := strings.Count(texts.String(), "<script>alert(1)</script>"); n < 20 {
		t.Errorf("the hostile text is there %d times", n)
	}
	for _, want := range []string{"7 in, 5 out, $0.2500", "2026-01-02 03:04:05 UTC"} {
		if !strings.Contains(texts.String(), want) {
			t.Errorf("%q is not there", want)
		}
	}
	if strings.Contains(texts.String(), "hidden") {
		t.Error("what is hidden is shown")
	}
}

func check(t *testing.T, element string, a html.Attribute) {
	t.Helper()
	switch a.Key {
	case "src":
		if a.Val != "data:image/png;base64,cGl4ZWxz" {
			t.Errorf("an image from %q", a.Val)
		}
	case "lang", "charset", "http-equiv", "content", "name", "class", "dir", "alt", "data-entry":
	default:
		t.Errorf("%s has an attribute %s=%q", element, a.Key, a.Val)
	}
}

func TestOnlyTheWayToTheEntryIsShown(t *testing.T) {
	l := store.InMemory(store.Options{})
	var ids []string
	for _, text := range []string{"first words", "second words"} {
		e, err := l.Append(store.Message{Message: llm.UserText(text, 0)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.Meta().ID)
	}
	var out strings.Builder
	if err := export.HTML(&out, l, ids[0]); err != nil || !strings.Contains(out.String(), "first words") || strings.Contains(out.String(), "second words") {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := export.HTML(&out, l, "nowhere"); !errors.Is(err, store.ErrNoEntry) {
		t.Errorf("%v", err)
	}
}

package compact_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/compact"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// big is about a hundred tokens.
var big = strings.Repeat("word", 100)

func user(text string) store.Entry { return store.Message{Message: llm.UserText(text, 0)} }

func agent(text string, calls ...string) store.Entry {
	m := &llm.Assistant{Content: []llm.Block{&llm.Text{Text: text}}}
	for _, c := range calls {
		id, name, _ := strings.Cut(c, " ")
		name, path, _ := strings.Cut(name, " ")
		m.Content = append(m.Content, &llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(fmt.Sprintf(`{"path":%q}`, path))})
	}
	return store.Message{Message: m}
}

func result(call, text string) store.Entry {
	return store.Message{Message: &llm.ToolResult{ToolCallID: call, ToolName: "read", Content: []tool.Content{tool.Text{Text: text}}}}
}

// log is a session with ids e1, e2, …
func log(t interface {
	Helper()
	Fatal(args ...any)
}, entries ...store.Entry,
) *store.Log {
	t.Helper()
	n := 0
	l := store.InMemory(store.Options{NewID: func() string { n++; return fmt.Sprintf("e%d", n) }})
	for _, e := range entries {
		if _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func plan(t *testing.T, l *store.Log, keep int64) (compact.Plan, error) {
	t.Helper()
	c, err := l.Context(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	return compact.Make(l.Branch(l.Leaf()), c.Items, keep)
}

func TestCutIsWhereAboutEnoughStays(t *testing.T) {
	turn := func(n int) []store.Entry {
		c := fmt.Sprintf("c%d", n)
		return []store.Entry{user(big), agent(big, c+" read a"), result(c, big), agent(big)}
	}
	conversation := append(append(turn(1), turn(2)...), turn(3)...) // e1 … e12
	for _, c := range []struct {
		keep            int64
		first           string
		history, prefix int
	}{
		{1, "e12", 8, 3},   // in the middle of the third turn
		{150, "e12", 8, 3}, // the result alone can't stay
		{210, "e10", 8, 1}, // the result with its answer
		{400, "e9", 8, 0},  // the third turn whole
		{500, "e8", 4, 3},
		{800, "e5", 4, 0},
		{900, "e4", 0, 3},
	} {
		p, err := plan(t, log(t, conversation...), c.keep)
		if err != nil || p.FirstKeptID != c.first || len(p.History) != c.history || len(p.Prefix) != c.prefix {
			t.Errorf("keep %d: from %s, %d and %d, %v; want %+v", c.keep, p.FirstKeptID, len(p.History), len(p.Prefix), err, c)
		}
	}
	for name, l := range map[string]*store.Log{
		"short": log(t, user(big), agent("hi")), "empty": log(t),
		"just compacted": log(t, user(big), agent(big), store.Compaction{Summary: "s"}),
	} {
		if _, err := plan(t, l, 10000); !errors.Is(err, compact.ErrShort) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever stands between them, a call and its result stay or go together, and each
// message is replaced or kept.
func TestCallsAndResultsAreNeverParted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var entries []store.Entry
		open := []string{}
		for n := range rapid.IntRange(1, 30).Draw(t, "length") {
			text := strings.Repeat("x", rapid.IntRange(0, 400).Draw(t, "size"))
			switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case kind == 0 && len(open) == 0:
				calls := rapid.IntRange(0, 3).Draw(t, "calls")
				for i := range calls {
					open = append(open, fmt.Sprintf("c%d.%d", n, i))
				}
				ids := make([]string, len(open))
				for i, c := range open {
					ids[i] = c + " read"
				}
				entries = append(entries, agent(text, ids...))
			case kind < 2 && len(open) > 0:
				entries, open = append(entries, result(open[0], text)), open[1:]
			case kind == 2:
				entries = append(entries, store.Message{Message: &llm.BashExecution{Command: text}})
			default:
				entries = append(entries, user(text))
			}
		}
		l := log(t, entries...)
		c, err := l.Context(l.Leaf())
		if err != nil {
			t.Fatal(err)
		}
		p, err := compact.Make(l.Branch(l.Leaf()), c.Items, int64(rapid.IntRange(1, 1000).Draw(t, "keep")))
		if errors.Is(err, compact.ErrShort) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		gone := len(p.History) + len(p.Prefix)
		if c.Items[gone].Entry.Meta().ID != p.FirstKeptID {
			t.Fatalf("%d messages go, and %s is the first that stays", gone, p.FirstKeptID)
		}
		calls := map[string]bool{}
		for _, i := range c.Items[:gone] {
			if a, ok := i.Record.(*llm.Assistant); ok {
				for _, call := range a.ToolCalls() {
					calls[call.ID] = true
				}
			}
		}
		for _, i := range c.Items[gone:] {
			if r, ok := i.Record.(*llm.ToolResult); ok && calls[r.ToolCallID] {
				t.Fatalf("the result of %s stays, its call goes", r.ToolCallID)
			}
		}
	})
}

func TestNextCompactionTakesUpTheOneBefore(t *testing.T) {
	l := log(t, user(big), agent(big, "c1 read old.go"), result("c1", "x"), user("go on"),
		store.Compaction{Summary: "notes", FirstKeptID: "e4", Details: json.RawMessage(`{"readFiles":["was.go"],"modifiedFiles":["mod.go"]}`)},
		agent(big, "c2 edit a.go", "c3 read mod.go", "c4 read z.go"), result("c2", ""), result("c3", ""), result("c4", ""), user(big), agent(big))
	p, err := plan(t, l, 150)
	if err != nil {
		t.Fatal(err)
	}
	if p.Previous != "notes" || p.FirstKeptID != "e10" || len(p.History) != 5 {
		t.Errorf("%+v", p)
	}
	if diff := cmp.Diff([][]string{{"was.go", "z.go"}, {"a.go", "mod.go"}}, [][]string{p.Files.Read(), p.Files.Changed()}); diff != "" {
		t.Error(diff)
	}
	if got := p.HistoryPrompt("the tests"); !strings.Contains(got, "<notes>\nnotes\n</notes>") || !strings.Contains(got, "the tests") || strings.Contains(got, "old.go") {
		t.Error(got)
	}
	want := "new notes\n\n<read-files>\nwas.go\nz.go\n</read-files>\n\n<modified-files>\na.go\nmod.go\n</modified-files>"
	if got := p.Summary("new notes\n", ""); got != want || p.PrefixPrompt("") != "" {
		t.Errorf("%q", got)
	}
	if string(p.Files.Details()) != `{"readFiles":["was.go","z.go"],"modifiedFiles":["a.go","mod.go"]}` || string(compact.Files{}.Details()) != `{"readFiles":[],"modifiedFiles":[]}` {
		t.Errorf("%s", p.Files.Details())
	}
}

func TestSplitTurnsGetTwoSummaries(t *testing.T) {
	l := log(t, user("task"), agent(big), agent(big))
	p, err := plan(t, l, 50)
	if err != nil || len(p.History) != 0 || len(p.Prefix) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	if p.HistoryPrompt("") != "" || !strings.Contains(p.PrefixPrompt("x"), "[User]\ntask") {
		t.Errorf("%q, %q", p.HistoryPrompt(""), p.PrefixPrompt("x"))
	}
	if got := p.Summary("ignored", "begun"); got != "The beginning of the task that follows:\n\nbegun" {
		t.Errorf("%q", got)
	}
}

func TestTokensTrustOnlyCountsOfThisContext(t *testing.T) {
	counted := &llm.Assistant{Content: []llm.Block{&llm.Text{Text: big}}, Usage: tool.Usage{Input: 5000, Output: 100, CacheRead: 10}}
	failed := *counted
	failed.StopReason = llm.StopError
	for name, c := range map[string]struct {
		entries []store.Entry
		want    int64
	}{
		"none":               {[]store.Entry{user(big)}, 100},
		"counted":            {[]store.Entry{user(big), store.Message{Message: counted}, user(big)}, 5210},
		"failed":             {[]store.Entry{user(big), store.Message{Message: &failed}}, 200},
		"before an edit":     {[]store.Entry{user(big), store.Message{Message: counted}, store.ContextEdit{TargetID: "e1", Replacement: json.RawMessage("null")}}, 100},
		"image":              {[]store.Entry{store.Message{Message: &llm.User{Content: []tool.Content{tool.Image{Data: []byte("x")}}}}}, 1200},
		"what no model sees": {[]store.Entry{store.Message{Message: &llm.BashExecution{Output: big, ExcludeFromContext: true}}}, 0},
	} {
		l := log(t, c.entries...)
		ctx, err := l.Context(l.Leaf())
		if err != nil {
			t.Fatal(err)
		}
		if got := compact.Tokens(l.Branch(l.Leaf()), ctx.Items); got != c.want {
			t.Errorf("%s: %d tokens, want %d", name, got, c.want)
		}
	}
}

func TestBranchThatWasLeft(t *testing.T) {
	l := log(t, user("shared"), agent("shared answer"), user("left"), agent("did", "c1 write w.go"), result("c1", "secret result"), agent(big))
	from := l.Branch(l.Leaf())
	c, err := l.Context(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	b := compact.Left(from, l.Branch("e2"), c.Items, 0)
	if got := compact.Transcript(b.Records); got != "[User]\nleft\n\n[Agent]\ndid\n\n[Agent calls write]\n{\"path\":\"w.go\"}\n\n[Agent]\n"+big+"\n\n" {
		t.Errorf("%q", got)
	}
	if got := b.Summary("notes"); got != "notes\n\n<modified-files>\nw.go\n</modified-files>" || !strings.Contains(b.Prompt("x"), "left") {
		t.Errorf("%q", got)
	}
	if b := compact.Left(from, l.Branch("e2"), c.Items, 100); len(b.Records) != 1 || len(b.Files.Changed()) != 1 {
		t.Errorf("within 100 tokens: %+v", b)
	}
	if b := compact.Left(from, from, c.Items, 0); len(b.Records) != 0 {
		t.Errorf("nothing was left: %+v", b)
	}
}

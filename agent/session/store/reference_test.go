package store_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/internal/refclient"
)

// view is what a program sees in a session.
type view struct {
	File     string
	Header   json.RawMessage
	Entries  []json.RawMessage
	Leaf     string
	Name     string
	Tree     []viewNode
	Contexts map[string]viewContext // by leaf
}

type viewNode struct {
	ID       string
	Label    string
	Children []viewNode
}

type viewContext struct {
	Messages      []json.RawMessage `json:"messages"`
	ThinkingLevel string            `json:"thinkingLevel"`
	Model         *store.ModelRef   `json:"model"`
}

// reference runs the published session manager.
func reference(t *testing.T, mode, target string) view {
	t.Helper()
	node, dir := refclient.Install(t)
	cmd := exec.Command(node, filepath.Join("testdata", "reference.mjs"), dir, mode, target)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, problems.String())
	}
	var v view
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	return v
}

// ours is what we see.
func ours(t *testing.T, l *store.Log) view {
	t.Helper()
	header, err := json.Marshal(l.Header())
	if err != nil {
		t.Fatal(err)
	}
	v := view{File: l.Path(), Header: header, Leaf: l.Leaf(), Name: l.Name(), Tree: nodes(l.Tree()), Contexts: map[string]viewContext{}}
	for _, e := range l.Entries() {
		line, err := store.JSON(e)
		if err != nil {
			t.Fatal(err)
		}
		v.Entries = append(v.Entries, line)
		c, err := l.Context(e.Meta().ID)
		if err != nil {
			t.Fatal(err)
		}
		one := viewContext{ThinkingLevel: c.Thinking, Messages: []json.RawMessage{}}
		if c.Model != (store.ModelRef{}) {
			one.Model = &c.Model
		}
		for _, i := range c.Items {
			data, err := json.Marshal(i)
			if err != nil {
				t.Fatal(err)
			}
			one.Messages = append(one.Messages, data)
		}
		v.Contexts[e.Meta().ID] = one
	}
	return v
}

func nodes(list []*store.Node) []viewNode {
	out := []viewNode{}
	for _, n := range list {
		out = append(out, viewNode{n.Entry.Meta().ID, n.Label, nodes(n.Children)})
	}
	return out
}

func same(t *testing.T, theirs, ours view) {
	t.Helper()
	if len(theirs.Entries) == 0 {
		t.Error("the session has no entries")
	}
	if diff := cmp.Diff(indented(t, theirs), indented(t, ours)); diff != "" {
		t.Errorf("-reference +piremote\n%s", diff)
	}
}

// indented is JSON with sorted members, in lines. (On values that are nested as deep
// as a tree of entries, the time that cmp takes doubles with each level.)
func indented(t *testing.T, v any) []string {
	t.Helper()
	data, err := json.MarshalIndent(asJSON(t, v), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(data), "\n")
}

func TestReferenceSessionOpensHere(t *testing.T) {
	theirs := reference(t, "write", t.TempDir())
	same(t, theirs, ours(t, open(t, theirs.File)))
}

func TestOurSessionOpensInReference(t *testing.T) {
	l := create(t, options(t.TempDir()))
	code := 1
	ids := add(t, l, store.ModelChange{Provider: "p", ModelID: "m"}, store.ThinkingLevelChange{ThinkingLevel: "low"},
		says("hello"), answers("two", "c1", "c2"))
	for _, r := range []*llm.ToolResult{result("c1", "A"), result("c2", "B")} {
		kept, err := store.Outcome(r)
		if err != nil {
			t.Fatal(err)
		}
		add(t, l, kept)
	}
	add(t, l, store.Message{Message: result("c1", "A")}, store.Message{Message: result("c2", "B")},
		store.Message{Message: &llm.BashExecution{Command: "false", ExitCode: &code, Timestamp: 1}},
		store.CustomMessage{CustomType: "note", Content: json.RawMessage(`"n"`), Details: json.RawMessage(`{"a":1}`)},
		store.Label{TargetID: ids[2], Label: "start"}, store.SessionInfo{Name: "ours"})
	more := add(t, l, says("more"), answers("yes"))
	add(t, l, store.ContextEdit{TargetID: more[1], Replacement: json.RawMessage(`{"content":"no"}`)},
		store.Compaction{Summary: "sum", FirstKeptID: more[0], TokensBefore: 7}, says("again"), answers("good"))
	left := l.Leaf()
	if err := l.MoveTo(ids[2]); err != nil {
		t.Fatal(err)
	}
	add(t, l, store.BranchSummary{FromID: left, Summary: "was there"}, answers("another"))
	mine := ours(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, reference(t, "open", l.Path()), mine)
	same(t, mine, ours(t, open(t, l.Path())))
}

// Sessions of older versions are migrated to the same entries, but for the ids,
// which are made up.
func TestOlderVersionsOpenAsInReference(t *testing.T) {
	for _, name := range []string{"v1.jsonl", "v2.jsonl"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			var path [2]string
			for i := range path {
				path[i] = filepath.Join(t.TempDir(), name)
				if err := os.WriteFile(path[i], data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l := open(t, path[0])
			mine, theirs := ours(t, l), reference(t, "open", path[1])
			if v := l.Repair().Migrated; v != map[string]int{"v1.jsonl": 1, "v2.jsonl": 2}[name] {
				t.Errorf("version %d was migrated", v)
			}
			for i, e := range theirs.Entries { // name theirs as ours
				var was, is struct{ ID string }
				if json.Unmarshal(e, &was) != nil || json.Unmarshal(mine.Entries[i], &is) != nil {
					t.Fatalf("%s and %s", e, mine.Entries[i])
				}
				all, err := json.Marshal(theirs)
				if err != nil {
					t.Fatal(err)
				}
				all = bytes.ReplaceAll(all, []byte(`"`+was.ID+`"`), []byte(`"`+is.ID+`"`))
				theirs = view{}
				if err := json.Unmarshal(all, &theirs); err != nil {
					t.Fatal(err)
				}
			}
			theirs.File = mine.File
			same(t, theirs, mine)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, path[0])
			if r := again.Repair(); r.Migrated != 0 {
				t.Errorf("it is migrated again: %v", r)
			}
			same(t, mine, ours(t, again))
		})
	}
}

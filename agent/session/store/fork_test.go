package store_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
)

func kinds(l *store.Log) string {
	var list []string
	for _, e := range l.Branch(l.Leaf()) {
		list = append(list, e.Meta().ID+" "+e.Kind())
	}
	return strings.Join(list, ", ")
}

func TestForkTakesTheWayAndItsLabels(t *testing.T) {
	dir := t.TempDir()
	l := create(t, options(dir))
	add(t, l, says("a"), store.Label{TargetID: "e1", Label: "old"}, store.Label{TargetID: "e1", Label: "start"},
		says("b"), store.Compaction{Summary: "s", FirstKeptID: "e3", TokensBefore: 1}, answers("c"))
	at := l.Leaf()
	add(t, l, says("not this"))
	o := options(dir)
	o.ID = "fork"
	f, err := l.Fork(at, o)
	if err != nil {
		t.Fatal(err)
	}
	want := "e1 message, e4 message, e5 compaction, e6 message, e2 label"
	if got := kinds(f); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	c, _ := f.Entry("e5")
	if c.(store.Compaction).FirstKeptID != "e4" || f.Labels()["e1"] != "start" {
		t.Errorf("%v, %v", c, f.Labels())
	}
	add(t, f, says("on"))
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, f.Path())
	h := again.Header()
	if h.ParentSession != l.Path() || h.ID != "fork" || h.Cwd != "/srv/app" || h.Workspace == nil || h.Workspace.Host != "box" {
		t.Errorf("%+v", h)
	}
	if got := kinds(again); !strings.HasPrefix(got, want) {
		t.Errorf("read again: %s", got)
	}
	if _, err := l.Fork("nowhere", o); !errors.Is(err, store.ErrNoEntry) {
		t.Errorf("%v", err)
	}
}

// What other programs wrote of fields goes along.
func TestForkKeepsWhatIsNotKnownHere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	text := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/a"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"x","timestamp":1,"more":{"z":1,"a":2}},"extra":[1.50]}
{"type":"label","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:00.000Z","targetId":"a"}
{"type":"new","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:00.000Z","deep":{"n":12345678901234567890}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, path)
	f, err := l.Fork("c", store.Options{Path: filepath.Join(t.TempDir(), "f.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	was, is := strings.Split(text, "\n"), lines(t, f.Path())
	want := []string{was[1], strings.Replace(was[3], `"parentId":"b"`, `"parentId":"a"`, 1)}
	if diff := cmp.Diff(want, is[1:]); diff != "" {
		t.Error(diff)
	}
}

func TestCloneTakesAllBranches(t *testing.T) {
	dir := t.TempDir()
	l := create(t, options(dir))
	add(t, l, says("a"), answers("b"))
	if err := l.MoveTo("e1"); err != nil {
		t.Fatal(err)
	}
	add(t, l, answers("c"))
	if err := l.MoveTo("e2"); err != nil {
		t.Fatal(err)
	}
	o := options(dir)
	o.ID, o.Cwd = "clone", "/elsewhere"
	c, err := l.Clone(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if len(c.Entries()) != 3 || c.Leaf() != "e2" || c.Header().Cwd != "/elsewhere" {
		t.Errorf("%d entries, leaf %s, %+v", len(c.Entries()), c.Leaf(), c.Header())
	}
	memory, err := store.InMemory(store.Options{}).Clone(store.Options{})
	if err != nil || memory.Path() != "" {
		t.Errorf("%v, %v", memory, err)
	}
}

func TestEntriesThatMakeNoSenseAreRefused(t *testing.T) {
	l := store.InMemory(options(""))
	add(t, l, says("a"))
	for _, e := range []store.Entry{
		store.Message{},
		store.Label{TargetID: "x"},
		store.Compaction{FirstKeptID: "x"},
		store.ContextEdit{TargetID: "x", Replacement: json.RawMessage("null")},
		store.ContextEdit{TargetID: "e1"},
		store.Custom{Data: json.RawMessage("{")},
		store.Unknown{Type: "x", Raw: json.RawMessage("[]")},
	} {
		if _, err := l.Append(e); err == nil {
			t.Errorf("%T was taken", e)
		}
	}
	if err := l.MoveTo("x"); !errors.Is(err, store.ErrNoEntry) || len(l.Entries()) != 1 {
		t.Errorf("%v, %d entries", err, len(l.Entries()))
	}
	if _, err := store.Create(store.Options{Dir: t.TempDir(), ID: "../x"}); err == nil {
		t.Error("an id that is a path was taken")
	}
}

func TestListShowsTheLastUsedFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "we[ird]*")
	if list, err := store.List(dir); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	for _, id := range []string{"aa1", "ab2"} {
		o := options("")
		o.Dir, o.ID = dir, id
		l := create(t, o)
		add(t, l, says("hello "+id), store.SessionInfo{Name: "name " + id}, says("bye"))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "noise.jsonl"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := store.Find(dir, "aa")
	if err != nil {
		t.Fatal(err)
	}
	session := open(t, l)
	add(t, session, store.Message{Message: llm.UserText("again", time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())})
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := store.List(dir)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if i := list[0]; i.Header.ID != "aa1" || i.Name != "name aa1" || i.First != "hello aa1" || i.Messages != 3 || i.Modified.Year() != 2030 {
		t.Errorf("%+v", i)
	}
	if latest, ok, err := store.Latest(dir); latest != list[0].Path || !ok || err != nil {
		t.Errorf("%s, %v, %v", latest, ok, err)
	}
	for which, want := range map[string]bool{"aa1": true, "a": false, "zz": false, "ab": true} {
		if _, err := store.Find(dir, which); (err == nil) != want {
			t.Errorf("find %q: %v", which, err)
		}
	}
	if got := store.FolderName("ssh://box:22/srv/app"); got != "--ssh---box-22-srv-app--" {
		t.Error(got)
	}
}

package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options give ids e1, e2, … and a clock that goes a second at a time.
func options(dir string) store.Options {
	n, now := 0, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return store.Options{
		Dir: filepath.Join(dir, "sessions"), Cwd: "/srv/app", ID: "s1",
		Workspace: &store.Workspace{Backend: "ssh", Host: "box", Root: "/srv/app", Label: "ssh://box/srv/app"},
		Clock:     func() time.Time { now = now.Add(time.Second); return now },
		NewID:     func() string { n++; return fmt.Sprintf("e%d", n) },
	}
}

func create(t *testing.T, o store.Options) *store.Log {
	t.Helper()
	l, err := store.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func open(t *testing.T, path string) *store.Log {
	t.Helper()
	l, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func add(t *testing.T, l *store.Log, entries ...store.Entry) (ids []string) {
	t.Helper()
	for _, e := range entries {
		stored, err := l.Append(e)
		if err != nil {
			t.Fatalf("append %T: %v", e, err)
		}
		ids = append(ids, stored.Meta().ID)
	}
	return ids
}

func says(text string) store.Message { return store.Message{Message: llm.UserText(text, 5)} }

func answers(text string, calls ...string) store.Message {
	m := &llm.Assistant{API: "a", Provider: "p", Model: "m", StopReason: llm.StopEnd, Usage: tool.Usage{Input: 3, Output: 4, Cost: 0.5}, Timestamp: 6}
	if text != "" {
		m.Content = append(m.Content, &llm.Text{Text: text})
	}
	for _, c := range calls {
		m.StopReason = llm.StopToolUse
		m.Content = append(m.Content, &llm.ToolCall{ID: c, Name: "read", Arguments: json.RawMessage(`{"path":"` + c + `"}`)})
	}
	return store.Message{Message: m}
}

func result(call, text string) *llm.ToolResult {
	return &llm.ToolResult{ToolCallID: call, ToolName: "read", Content: []tool.Content{tool.Text{Text: text}}, Timestamp: 7}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(data), "\n") {
		t.Errorf("%s does not end with a newline", path)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// asJSON is a value as any, so that two of them can be compared.
func asJSON(t *testing.T, v any) any {
	t.Helper()
	data, ok := v.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return out
}

func TestFileIsMadeWhenSomeoneSaysSomething(t *testing.T) {
	dir := t.TempDir()
	l := create(t, options(dir))
	add(t, l, store.ModelChange{Provider: "p", ModelID: "m"}, store.ThinkingLevelChange{ThinkingLevel: "high"})
	if _, err := os.Stat(l.Path()); !errors.Is(err, os.ErrNotExist) || l.Stored() {
		t.Errorf("there is a file before anyone said something: %v", err)
	}
	add(t, l, says("hello"))
	got := lines(t, l.Path())
	want := []string{
		`{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:06.000Z","cwd":"/srv/app","workspace":{"backend":"ssh","host":"box","root":"/srv/app","label":"ssh://box/srv/app"}}`,
		`{"type":"model_change","id":"e1","parentId":null,"timestamp":"2026-01-02T03:04:07.000Z","provider":"p","modelId":"m"}`,
		`{"type":"thinking_level_change","id":"e2","parentId":"e1","timestamp":"2026-01-02T03:04:08.000Z","thinkingLevel":"high"}`,
		`{"type":"message","id":"e3","parentId":"e2","timestamp":"2026-01-02T03:04:09.000Z","message":{"role":"user","content":[{"type":"text","text":"hello"}],"timestamp":5}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if filepath.Base(l.Path()) != "2026-01-02T03-04-06-000Z_s1.jsonl" || !l.Stored() {
		t.Errorf("path %s", l.Path())
	}
	if runtime.GOOS != "windows" {
		for path, mode := range map[string]os.FileMode{l.Path(): 0o600, filepath.Dir(l.Path()): 0o700} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
			}
		}
	}
}

func TestSessionsComeBackAsTheyWere(t *testing.T) {
	l := create(t, options(t.TempDir()))
	code := 2
	add(t, l, says("first"), answers("sure", "c1"), store.Message{Message: result("c1", "text")},
		store.Message{Message: &llm.BashExecution{Command: "ls", Output: "a\n", ExitCode: &code, Timestamp: 8}},
		store.CustomMessage{CustomType: "note", Content: json.RawMessage(`"look"`), Display: true},
		store.Custom{CustomType: "seen", Data: json.RawMessage(`{"a":1}`)},
		store.BranchSummary{FromID: "e1", Summary: "tried", Usage: &tool.Usage{Input: 1}},
		store.Usage{Operation: "cache_warm", Provider: "p", Model: "m", Usage: &tool.Usage{CacheRead: 9}},
		store.Label{TargetID: "e1", Label: "start"}, store.SessionInfo{Name: " a\nname "},
		store.Unknown{Type: "future", Raw: json.RawMessage(`{"type":"x","deep":{"a": [1, 2]}}`)},
		store.Compaction{Summary: "sum", FirstKeptID: "e2", TokensBefore: 10, Details: json.RawMessage(`{"readFiles":["a"]}`), Usage: &tool.Usage{Output: 2}},
		store.ContextEdit{TargetID: "e3", Replacement: json.RawMessage(`null`)})
	before, err := l.Context(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, l.Path())
	if r := again.Repair().String(); r != "" {
		t.Error(r)
	}
	for i, e := range l.Entries() {
		a, errA := store.JSON(e)
		b, errB := store.JSON(again.Entries()[i])
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("entry %d: %s, %s, %v, %v", i, a, b, errA, errB)
		}
		if e.Kind() != again.Entries()[i].Kind() {
			t.Errorf("entry %d is %s, then %s", i, e.Kind(), again.Entries()[i].Kind())
		}
	}
	after, err := again.Context(again.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, before), asJSON(t, after)); diff != "" {
		t.Error(diff)
	}
	if again.Name() != "a name" || again.Labels()["e1"] != "start" {
		t.Errorf("name %q, labels %v", again.Name(), again.Labels())
	}
	if data, ok := again.Latest("seen"); !ok || string(data) != `{"a":1}` {
		t.Errorf("state %s, %v", data, ok)
	}
	if e, _ := again.Entry("e11"); e.Kind() != "future" {
		t.Errorf("the unknown entry is %v", e)
	}
}

package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/backends/local"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/tool"
)

// Calls of one answer that depend on each other, with the real tools: what comes
// later in the answer sees what came before.
func TestLOOP06DependentCallsOfOneBatch(t *testing.T) {
	for name, c := range map[string]struct {
		calls string
		want  []string // the beginning of each result
		files map[string]string
	}{
		"write, then a command reads": {
			`[{name: write, arguments: {path: src/new.txt, content: fresh}}, {name: bash, arguments: {command: cat src/new.txt}}]`,
			[]string{"", "fresh"},
			map[string]string{"src/new.txt": "fresh"},
		},
		"a command removes, then write": {
			`[{name: bash, arguments: {command: "sleep 0.1; rm x.txt"}}, {name: write, arguments: {path: x.txt, content: back}}]`,
			[]string{"", ""},
			map[string]string{"x.txt": "back"},
		},
		"edit, then read": {
			`[{name: edit, arguments: {path: x.txt, edits: [{oldText: old, newText: new}]}}, {name: read, arguments: {path: x.txt}}]`,
			[]string{"", "new"},
			map[string]string{"x.txt": "new\n"},
		},
		"two edits and a write of one file": {
			`[{name: edit, arguments: {path: x.txt, edits: [{oldText: old, newText: mid}]}}, {name: edit, arguments: {path: ./x.txt, edits: [{oldText: mid, newText: new}]}}, {name: write, arguments: {path: y.txt, content: y}}]`,
			[]string{"", "", ""},
			map[string]string{"x.txt": "new\n", "y.txt": "y"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "x.txt"), []byte("old\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				results := dependent(t, dir, c.calls)
				for i, r := range results {
					if text := tool.TextOf(r.Content); r.IsError || !strings.HasPrefix(text, c.want[i]) {
						t.Errorf("result %d: %s", i, text)
					}
				}
				if len(results) != len(c.want) {
					t.Errorf("%d results", len(results))
				}
				got := map[string]string{}
				for file := range c.files {
					text, err := os.ReadFile(filepath.Join(dir, file))
					if err != nil {
						t.Error(err)
					}
					got[file] = string(text)
				}
				if d := cmp.Diff(c.files, got); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// dependent runs one batch on a folder.
func dependent(t *testing.T, dir, calls string) (results []*llm.ToolResult) {
	t.Helper()
	script, err := scripted.Parse("dependent", []byte("turns:\n  - toolCalls: [{name: read, arguments: {path: x.txt}}]\n  - toolCalls: "+calls+"\n  - text: done\n"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := local.Open(t.Context(), local.Options{Dir: dir, Env: os.Environ(), SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	list, err := tools.New(w.Set(), nil, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := func() []tool.Tool { return list }
	scope := func() tool.Scope { return tool.Scope{Dir: dir, Root: dir} }
	a, err := agent.New(agent.Options{Provider: script.Provider(nil), Tools: all, Executor: call.New(call.Options{Tools: all, Scope: scope})})
	if err != nil {
		t.Fatal(err)
	}
	turn := 0
	a.Subscribe(func(_ context.Context, e agent.Event) error {
		if end, ok := e.(agent.TurnEnd); ok {
			if turn++; turn == 2 {
				results = end.ToolResults
			}
		}
		return nil
	})
	if s, err := a.Prompt(t.Context(), prompt("go")); err != nil || s.Reason != agent.StopDone {
		t.Fatalf("%+v, %v", s, err)
	}
	return results
}

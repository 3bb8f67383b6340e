package tools_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops/opstest"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden runs each testdata/golden/<tool>/*.txtar on the workspace in
// memory. A golden holds, in this order:
//
//   - in its comment, what it shows, and lines that begin with "$": see setup;
//   - before/NAME, files of the working folder;
//   - call, the arguments as JSON;
//   - result or error, the text that the model gets, and images by their type;
//   - details, without what a clock gave;
//   - after/NAME, what files are new or changed; gone/NAME, what are no more. If
//     there are none, nothing was changed.
//
// Edit and write run in one step and in several; one with faults runs in the way
// that calls what fails.
//
// A text that does not end in a line feed has "<no line feed>" behind it. One
// with bytes that a reader can't see is written as a Go string. The middle of a
// long one is left out, and its hash is there instead.
func TestGolden(t *testing.T) {
	for _, name := range tools.Names() {
		files, err := filepath.Glob(filepath.Join("testdata", "golden", name, "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Errorf("no goldens of %s: %v", name, err)
		}
		for _, file := range files {
			t.Run(name+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				archive, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, inSteps := range ways(name, string(archive.Comment)) {
					golden(t, name, file, archive, inSteps)
				}
			})
		}
	}
}

// ways says whether a golden runs with the abilities that change a file hidden,
// so that it is changed in several steps.
func ways(name, comment string) (inSteps []bool) {
	switch {
	case name != "edit" && name != "write":
		return []bool{false}
	case !strings.Contains(comment, "$ fault ") && !strings.Contains(comment, "$ lost "):
		return []bool{false, true}
	default:
		return []bool{!strings.Contains(comment, string(opstest.OpEditFile)) && !strings.Contains(comment, string(opstest.OpWriteTree))}
	}
}

func golden(t *testing.T, name, file string, archive *txtar.Archive, inSteps bool) {
	t.Helper()
	m := opstest.NewMemory(opstest.Options{})
	t.Cleanup(func() { _ = m.Close() })
	var arguments json.RawMessage
	given := 0
	for _, f := range archive.Files {
		if before, ok := strings.CutPrefix(f.Name, "before/"); ok {
			put(t, m, before, plain(t, f.Data))
			given++
		} else if f.Name == "call" {
			arguments = bytes.TrimSpace(f.Data)
			given++
		}
	}
	if arguments == nil {
		t.Fatal("there is no call")
	}
	s := newSetup(t, m, string(archive.Comment))
	s.inSteps = inSteps
	before := contents(t, m)

	list, err := tools.New(s.operations(), []string{name}, s.options)
	if err != nil {
		t.Fatal(err)
	}
	x := call.New(call.Options{Tools: func() []tool.Tool { return list }, Scope: func() tool.Scope { return s.scope }})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	listen := func(tool.Result) error {
		if s.abort {
			cancel()
		}
		return nil
	}
	outcome := x.Do(ctx, call.Request{ID: "1", Name: name, Args: arguments}, listen)
	got := &txtar.Archive{Comment: archive.Comment, Files: archive.Files[:given:given]}
	kind := "result"
	if outcome.IsError {
		kind = "error"
	}
	add(got, kind, shown(outcome.Result))
	if d := details(t, outcome.Result.Details); d != "" {
		add(got, "details", d)
	}
	after := contents(t, m)
	for _, p := range slices.Sorted(maps.Keys(after)) {
		if old, ok := before[p]; !ok || old != after[p] {
			add(got, "after/"+textout.EscapeName(p), after[p])
		}
	}
	for _, p := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[p]; !ok {
			add(got, "gone/"+textout.EscapeName(p), "")
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(got))); d != "" {
		t.Errorf("golden -, now +, in several steps: %v\n%s", inSteps, d)
	}
}

func add(a *txtar.Archive, name, text string) {
	a.Files = append(a.Files, txtar.File{Name: name, Data: spelled(text)})
}

// shown is what the model gets of a result.
func shown(r tool.Result) string {
	var parts []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case tool.Text:
			parts = append(parts, c.Text)
		case tool.Image:
			parts = append(parts, "<"+c.MIMEType+">\n")
		}
	}
	return strings.Join(parts, "\n")
}

// details is the JSON of a result's details, a field a line, without what a
// clock gave.
func details(t *testing.T, d any) string {
	t.Helper()
	if d == nil {
		return ""
	}
	raw, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	delete(object, "durationMs")
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(object)) {
		var text string
		if object[key][0] != '"' || json.Unmarshal(object[key], &text) != nil {
			text = string(object[key])
		}
		switch {
		case !strings.Contains(text, "\n"):
		case key != "diff" && key != "patch":
			text = strconv.Quote(text)
		default:
			text = "\n\t" + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n\t")
		}
		fmt.Fprintf(&b, "%s: %s\n", key, text)
	}
	return b.String()
}

const noLineFeed = "<no line feed>\n"

// spelled is text as a golden holds it.
func spelled(text string) []byte {
	if text == "" {
		return nil
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == '\uFEFF' || r == '\u00A0' }) {
		return []byte(abridged(strconv.QuoteToGraphic(text)) + "\n")
	}
	if strings.HasPrefix(text, `"`) || strings.Contains("\n"+text, "\n-- ") {
		return []byte(abridged(strconv.Quote(text)) + "\n") // it would be read as something else
	}
	text = abridged(text)
	if !strings.HasSuffix(text, "\n") {
		text += noLineFeed
	}
	return []byte(text)
}

// plain is the text that a golden spells.
func plain(t *testing.T, data []byte) string {
	t.Helper()
	text := string(data)
	if strings.HasPrefix(text, `"`) {
		s, err := strconv.Unquote(strings.TrimSuffix(text, "\n"))
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return s
	}
	if s, ok := strings.CutSuffix(text, noLineFeed); ok {
		return s
	}
	return text
}

// abridged leaves out the middle of a text that is too long to look at.
func abridged(text string) string {
	const edge = 300
	if len(text) <= 5*edge {
		return text
	}
	head, tail := text[:edge], text[len(text)-edge:]
	if i := strings.LastIndexByte(head, '\n'); i > edge/2 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < edge/2 {
		tail = tail[i+1:]
	}
	middle := text[len(head) : len(text)-len(tail)]
	return fmt.Sprintf("%s<%d bytes, %d lines left out, sha256 %.6x>\n%s", head, len(middle), strings.Count(middle, "\n"), sha256.Sum256([]byte(middle)), tail)
}

func put(t *testing.T, m *opstest.Memory, name, content string) {
	t.Helper()
	if err := m.PutFile("/ws/"+name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// contents is every file, link and special file below the working folder.
func contents(t *testing.T, m *opstest.Memory) map[string]string {
	t.Helper()
	all := map[string]string{}
	var visit func(dir string)
	visit = func(dir string) {
		names, err := m.Names(path.Join("/ws", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			rel := path.Join(dir, name)
			abs := path.Join("/ws", rel)
			info, err := m.Lstat(abs)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case info.IsDir():
				all[rel+"/"] = ""
				visit(rel)
			case info.Mode()&fs.ModeSymlink != 0:
				target, err := m.Readlink(abs)
				if err != nil {
					t.Fatal(err)
				}
				all[rel] = "link to " + target + "\n"
			case info.Mode().IsRegular():
				data, err := m.GetFile(abs)
				if err != nil {
					t.Fatal(err)
				}
				all[rel] = string(data)
			default:
				all[rel] = info.Mode().String() + "\n"
			}
		}
	}
	visit("")
	return all
}

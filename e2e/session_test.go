//go:build linux

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// place is a folder to work in, with a home of its own.
type place struct {
	t               *testing.T
	workspace, home string
}

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{t, t.TempDir(), t.TempDir()}
	p.write("a.txt", "hello\n")
	return p
}

func (p place) write(name, content string) string {
	p.t.Helper()
	file := filepath.Join(p.workspace, name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return file
}

// script is a scripted model.
func (p place) script(turns string) string {
	p.t.Helper()
	file := filepath.Join(p.home, "script.yaml")
	if err := os.WriteFile(file, []byte("turns:\n"+turns), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return "scripted:" + file
}

func (p place) env() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home} }

// ask prompts in print mode.
func (p place) ask(turns string, args ...string) result {
	p.t.Helper()
	return run(p.t, p.env(), append([]string{"-w", p.workspace, "-p", "--model", p.script(turns)}, args...)...)
}

func (p place) sessions() []string {
	p.t.Helper()
	list, err := filepath.Glob(filepath.Join(p.home, ".local/state/piremote/sessions/*/*.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

func TestSessionsAreGoneOnWith(t *testing.T) {
	p := newPlace(t)
	if r := p.ask("- text: one\n", "--no-session", "go"); r.code != 0 || len(p.sessions()) != 0 {
		t.Fatalf("--no-session: %+v, kept %v", r, p.sessions())
	}
	if r := p.ask("- text: one\n", "--continue", "first"); r.code != 0 || r.stdout != "one\n" || !strings.Contains(r.stderr, "no session") {
		t.Fatalf("--continue with nothing there: %+v", r)
	}
	kept := p.sessions()
	if len(kept) != 1 {
		t.Fatalf("kept are %v", kept)
	}
	info, err := os.Stat(kept[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	id := header(t, kept[0])
	for _, args := range [][]string{{"--continue"}, {"--resume", id}, {"--session", kept[0], "--name", "work"}} {
		if r := p.ask("- text: more\n", append(args, "again")...); r.code != 0 || r.stdout != "more\n" || len(p.sessions()) != 1 {
			t.Errorf("%v: %+v, kept %v", args, r, p.sessions())
		}
	}
	if text := content(t, kept[0]); strings.Count(text, `"text":"again"`) != 3 || !strings.Contains(text, `"name":"work"`) {
		t.Errorf("the file holds %s", text)
	}
	if r := p.ask("- text: more\n", "--fork", id, "else"); r.code != 0 || len(p.sessions()) != 2 {
		t.Errorf("--fork: %+v, kept %v", r, p.sessions())
	}
	if r := p.ask("- text: more\n", "--resume", "nothing", "x"); r.code != 2 || !strings.Contains(r.stderr, "nothing") {
		t.Errorf("an id that is not there: %+v", r)
	}
	if r := p.ask("- text: more\n", "--continue", "--no-session", "x"); r.code != 2 || !strings.Contains(r.stderr, "contradict") {
		t.Errorf("flags that contradict each other: %+v", r)
	}
	// Another workspace is refused; a fork goes on there.
	elsewhere := place{t, t.TempDir(), p.home}
	if r := elsewhere.ask("- text: more\n", "--session", kept[0], "x"); r.code != 2 || !strings.Contains(r.stderr, p.workspace) {
		t.Errorf("a session of another workspace: %+v", r)
	}
	if r := elsewhere.ask("- text: there\n", "--fork", kept[0], "x"); r.code != 0 || r.stdout != "there\n" {
		t.Errorf("a fork onto another workspace: %+v", r)
	}
}

// What a session has read is still known when it is gone on with: what somebody else
// changed meanwhile is not overwritten.
func TestMUTQ05AResumedSessionOverwritesNothing(t *testing.T) {
	p := newPlace(t)
	write := "- toolCalls: [{id: two, name: write, arguments: {path: a.txt, content: mine}}]\n- text: done\n"
	if r := p.ask("- toolCalls: [{id: one, name: read, arguments: {path: a.txt}}]\n- text: read\n", "read it"); r.code != 0 {
		t.Fatal(r)
	}
	p.write("a.txt", "somebody else's\n")
	p.ask(write, "--continue", "write it")
	if got := content(t, filepath.Join(p.workspace, "a.txt")); got != "somebody else's\n" {
		t.Errorf("a.txt holds %q", got)
	}
	for _, file := range p.sessions() {
		if !strings.Contains(content(t, file), "Cannot write a.txt: it has changed since you last saw it") {
			t.Errorf("nothing says why: %s", content(t, file))
		}
	}
	if r := p.ask(write, "write it"); r.code != 0 || content(t, filepath.Join(p.workspace, "a.txt")) != "mine" {
		t.Errorf("a new session, which has read nothing: %+v", r)
	}
}

func TestKeysAreNotKept(t *testing.T) {
	p := newPlace(t)
	r := run(t, append(p.env(), "OPENAI_API_KEY=sk-very-secret-1"), "-w", p.workspace, "-p", "--model", p.script("- text: never sk-very-secret-1\n"), "it is sk-very-secret-1")
	if r.code != 0 {
		t.Fatal(r)
	}
	for _, file := range p.sessions() {
		if text := content(t, file); strings.Contains(text, "very-secret") || !strings.Contains(text, "[secret]") {
			t.Errorf("the file holds %s", text)
		}
	}
}

// kill -9 with one of three parallel calls unfinished: what was complete is there,
// and of the third is said that nobody knows.
func TestLOOP01KilledSessionSaysWhatIsUnknown(t *testing.T) {
	p := newPlace(t)
	hold := p.write("hold", "")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-w", p.workspace, "--mode", "json", "--tools", "read,ls,bash", "--model",
		p.script("- toolCalls:\n  - {id: one, name: read, arguments: {path: a.txt}}\n  - {id: two, name: ls, arguments: {path: .}}\n"+
			"  - {id: three, name: bash, arguments: {command: while test -e hold; do sleep 0.1; done}}\n"), "go")
	cmd.Env = p.env()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended, started := 0, 0
	for lines := bufio.NewScanner(out); (ended < 2 || started < 3) && lines.Scan(); {
		var e struct{ Type string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "tool_execution_start":
			started++
		case "tool_execution_end":
			ended++
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	if started != 3 || ended != 2 {
		t.Fatalf("%d calls started, %d ended", started, ended)
	}
	r := p.ask("- text: resumed\n", "--continue", "go on")
	if r.code != 0 || r.stdout != "resumed\n" || !strings.Contains(r.stderr, "outcome unknown: three") {
		t.Errorf("%+v", r)
	}
	var results []string
	for line := range strings.Lines(content(t, p.sessions()[0])) {
		var e struct {
			Type    string
			Message struct {
				Role, ToolCallID string
				Content          []struct{ Text string }
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if e.Type == "message" && e.Message.Role == "toolResult" {
			text, _, _ := strings.Cut(e.Message.Content[0].Text, ":")
			results = append(results, e.Message.ToolCallID+" "+text)
		}
	}
	if got := strings.Join(results, "; "); got != "one hello\n; two a.txt\nhold; three interrupted, outcome unknown" {
		t.Errorf("the results are %q", got)
	}
}

func header(t *testing.T, file string) string {
	t.Helper()
	var h struct{ ID string }
	line, _, _ := strings.Cut(content(t, file), "\n")
	if err := json.Unmarshal([]byte(line), &h); err != nil || h.ID == "" {
		t.Fatalf("%s: %v", line, err)
	}
	return h.ID
}

func content(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// A tool of the configuration runs on the workspace, or on this machine if it says so,
// which --remote-only refuses; the model can call it.
func TestScriptTools(t *testing.T) {
	p := newPlace(t)
	elsewhere := place{t, t.TempDir(), p.home}
	config := elsewhere.write("config.yaml", `script_tools:
- name: count
  description: Counts the bytes of a file.
  parameters: '{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}'
  command: |
    file=$(sed 's/.*"path":"\([^"]*\)".*/\1/')
    printf '{"content": "%d bytes", "details": {"dir": "%s"}}' "$(wc -c <"$file")" "$PWD"
- {name: here, description: Says where it runs., where: client, command: 'printf "{\"content\": \"%s\"}" "$PWD"'}
`)
	with := func(args ...string) result {
		return run(t, p.env(), append([]string{"--config", config, "-w", p.workspace}, args...)...)
	}
	if r := with("tool", "count", "path=a.txt"); r.code != 0 || r.stdout != "6 bytes\n" {
		t.Errorf("on the workspace: %+v", r)
	}
	if r := with("tool", "count"); r.code != 1 || !strings.Contains(r.stderr, "path") {
		t.Errorf("without an argument: %+v", r)
	}
	if r := with("tool", "here"); r.code != 0 || strings.Contains(r.stdout, filepath.Base(p.workspace)) || r.stdout == "\n" {
		t.Errorf("on this machine: %+v", r)
	}
	if r := with("tool", "nothing"); r.code != 2 || !strings.Contains(r.stderr, "count, here") {
		t.Errorf("an unknown tool: %+v", r)
	}
	r := run(t, p.env(), "--config", config, "-w", "ssh://nowhere.invalid/x", "--remote-only", "tool", "here")
	if r.code != 2 || !strings.Contains(r.stderr, "--remote-only") || !strings.Contains(r.stderr, "here") {
		t.Errorf("with --remote-only: %+v", r)
	}
	model := p.script("- toolCalls: [{id: one, name: count, arguments: {path: a.txt}}]\n- text: counted\n  expect: [{contains: 6 bytes}]\n")
	if r := with("-p", "--model", model, "--no-session", "go"); r.code != 0 || r.stdout != "counted\n" {
		t.Errorf("by a model: %+v", r)
	}
	broken := elsewhere.write("broken.yaml", "script_tools:\n- {name: read, command: 'true'}\n")
	if r := run(t, p.env(), "--config", broken, "-w", p.workspace, "tool", "read", "path=a.txt"); r.code != 3 || !strings.Contains(r.stderr, "built-in") {
		t.Errorf("the name of a built-in tool: %+v", r)
	}
}

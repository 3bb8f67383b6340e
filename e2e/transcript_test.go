//go:build linux

package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden transcript") //nolint:gochecknoglobals // a test flag

// The same scripted session gives the same transcript on every kind of target.
func TestTranscriptIsTheSameEverywhere(t *testing.T) {
	script, err := filepath.Abs("../examples/scripted/all-tools")
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "all-tools.txt")
	for _, x := range targets(t) {
		t.Run(x.name, func(t *testing.T) {
			x.env = append(x.env, "PIREMOTE_SHELL_PATH=/bin/sh") // a container has no bash
			r := x.on(t, "-p", "--mode", "json", "--tools", "read,bash,edit,write,grep,find,ls", "--model", "scripted:"+script, "go")
			if r.code != 0 {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			got := transcript(t, r.stdout, x.dir)
			if *update && x.name == "local" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("transcript (-golden +got):\n%s", d)
			}
			for _, tool := range []string{"read", "bash", "edit", "write", "grep", "find", "ls"} {
				if !strings.Contains(got, "end "+tool+" ok") {
					t.Errorf("%s never succeeded", tool)
				}
			}
		})
	}
}

// transcript spells the events of a JSON run without times and ids, with the
// folder as $WS.
func transcript(t *testing.T, stdout, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		var e struct {
			Type     string
			ToolName string
			Args     json.RawMessage
			Message  struct {
				Role       string
				StopReason string
				ToolName   string
				IsError    bool
				Content    []struct{ Type, Text string }
			}
			ExitCode *int
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch e.Type {
		case "tool_execution_start":
			fmt.Fprintf(&b, "start %s %s\n", e.ToolName, e.Args)
		case "message_end":
			if e.Message.Role == "toolResult" { // the ends themselves come as the calls finish
				fmt.Fprintf(&b, "end %s %s", e.Message.ToolName, map[bool]string{false: "ok", true: "error"}[e.Message.IsError])
			} else {
				fmt.Fprintf(&b, "%s %s", e.Message.Role, e.Message.StopReason)
			}
			for _, c := range e.Message.Content {
				if c.Text != "" {
					fmt.Fprintf(&b, "\n  | %s", strings.ReplaceAll(c.Text, "\n", "\n  | "))
				}
			}
			b.WriteString("\n")
		case "verdict":
			fmt.Fprintf(&b, "verdict %d\n", *e.ExitCode)
		case "message_update", "message_start", "tool_execution_update", "tool_execution_end", "session":
		default:
			b.WriteString(e.Type + "\n")
		}
	}
	return strings.ReplaceAll(b.String(), dir, "$WS")
}

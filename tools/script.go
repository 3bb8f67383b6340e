package tools

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// maxAnswer bounds what a script tool may answer, in bytes.
const maxAnswer = 4 << 20

// ScriptSpec describes a tool that is a command of the target's shell. It gets the
// validated arguments as one JSON object on standard input, and answers on standard
// output with one:
//
//	{"content": "text", or [{"type": "text", "text": "…"}, {"type": "image", "data": "<base64>", "mimeType": "image/png"}],
//	 "details": {…}, "isError": false}
//
// An answer with isError, one that is no such object, and an exit code other than 0 are
// failures; what the command wrote to standard error is told with them. Standard input
// is at its end behind the object.
type ScriptSpec struct {
	Name        string
	Label       string
	Description string
	// Parameters is the JSON schema of the arguments; empty takes none.
	Parameters json.RawMessage
	Command    string
	// Timeout ends the command with everything that it started; zero means an hour.
	Timeout time.Duration
}

type scriptTool struct {
	shellTool
	info    tool.Info
	command string
	timeout time.Duration
}

// NewScript makes the tool on a workspace that can run commands.
func NewScript(set ops.Set, s ScriptSpec) (tool.Tool, error) {
	if len(s.Parameters) == 0 {
		s.Parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	_, err := schema.Compile(s.Parameters)
	switch {
	case s.Name == "" || strings.TrimSpace(s.Command) == "":
		err = errors.New("it needs a name and a command")
	case set.Bash == nil:
		err = errors.New("the workspace runs no commands")
	case strings.ContainsRune(s.Command, 0):
		err = errors.New("its command contains a NUL byte, which no shell accepts")
	}
	if err != nil {
		return nil, fmt.Errorf("script tool %q: %w", s.Name, err)
	}
	if s.Timeout <= 0 {
		s.Timeout = time.Hour
	}
	t := &scriptTool{command: s.Command, timeout: s.Timeout}
	t.set, t.exec = set, set.Bash
	t.info = tool.Info{
		Declaration: tool.Declaration{Name: s.Name, Description: s.Description, Parameters: s.Parameters},
		Label:       s.Label, Access: tool.AccessShell,
	}
	return t, nil
}

func (t *scriptTool) Info() tool.Info { return t.info }

// Execute runs the command; see tool.Tool.
func (t *scriptTool) Execute(ctx context.Context, call tool.Call, _ tool.Update) (tool.Result, error) {
	mark := "answer-" + rand.Text()
	script, err := t.script(call.Args, mark)
	if err != nil {
		return tool.Result{}, err
	}
	cmd := ops.Command{
		Script: script, Shell: ops.Shell{Kind: ops.ShellPOSIX}, Dir: t.dir(call.Scope), Env: t.environment(call.Scope), Timeout: t.timeout,
	}
	var out bytes.Buffer
	lost := false
	exit, err := t.exec.Exec(ctx, cmd, func(c ops.Chunk) {
		lost = lost || c.Dropped > 0 || out.Len()+len(c.Data) > maxAnswer
		if !lost {
			out.Write(c.Data)
		}
	})
	effect := tool.Effect{Workspace: t.set.Target.Label, Operation: "exec", Command: t.command}
	if exit.TimedOut || err != nil {
		effect.Kill = &tool.KillReport{Killed: exit.Killed, Survivors: exit.Survivors}
	} else {
		effect.ExitCode = &exit.Code
	}
	result := tool.Result{Effects: []tool.Effect{effect}}
	diagnostics, answer, answered := strings.Cut(out.String(), "\n"+mark+"\n")
	if status := t.status(ctx, cmd, exit, err); status != nil {
		return result, t.failed(status, diagnostics)
	}
	switch {
	case lost:
		return result, t.failed(fmt.Errorf("it wrote more than %s", textout.FormatSize(maxAnswer)), "")
	case !answered:
		return result, t.failed(errors.New("the command ended the shell before its answer was complete"), diagnostics)
	}
	a, err := parseAnswer(answer)
	if err != nil {
		return result, t.failed(err, diagnostics)
	}
	result.Content, result.Details = a.content, a.details
	if a.isError {
		return result, t.failed(errors.New(or(tool.TextOf(a.content), "it failed, and does not say why")), diagnostics)
	}
	return result, nil
}

// script gives the command its arguments in a here-document and puts what it wrote to
// standard output behind a mark, which nobody knows beforehand. A JSON object stands on
// one line, so that no argument can end the document.
func (t *scriptTool) script(args json.RawMessage, mark string) (string, error) {
	var line bytes.Buffer
	if err := json.Compact(&line, args); err != nil {
		return "", fmt.Errorf("arguments of %s: %w", t.info.Name, err)
	}
	return fmt.Sprintf("answer=$({\n%s\n} <<'%s'\n%s\n%s\n)\nstatus=$?\nprintf '\\n%%s\\n%%s' '%s' \"$answer\"\nexit $status\n",
		t.command, mark, line.String(), mark, mark), nil
}

// failed is the error for the model, with the end of what the command told.
func (t *scriptTool) failed(err error, diagnostics string) error {
	text := fmt.Sprintf("%s: %v", t.info.Name, err)
	acc := textout.NewAccumulator(textout.Limits{Lines: maxDiagnostics})
	_, _ = acc.Write([]byte(diagnostics)) // never fails
	acc.Flush()
	if told := strings.TrimSpace(acc.Snapshot().Text); told != "" {
		text += "\n" + told
	}
	return &failure{text: text, err: err}
}

// maxDiagnostics is how many of the last lines that a script tool wrote to standard
// error are told when it fails.
const maxDiagnostics = 50

// scriptAnswer is what a script tool said.
type scriptAnswer struct {
	content []tool.Content
	details any
	isError bool
}

func parseAnswer(text string) (scriptAnswer, error) {
	var raw struct {
		Content json.RawMessage `json:"content"`
		Details map[string]any  `json:"details"`
		IsError bool            `json:"isError"`
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return scriptAnswer{}, fmt.Errorf("its answer is no JSON object with content, details and isError: %w: %q", err, textout.TruncateRunes(text, 200))
	}
	a := scriptAnswer{isError: raw.IsError}
	if raw.Details != nil {
		a.details = raw.Details
	}
	var plain string
	if len(raw.Content) == 0 || json.Unmarshal(raw.Content, &plain) == nil {
		a.content = []tool.Content{tool.Text{Text: bounded(plain)}}
		return a, nil
	}
	var blocks []struct {
		Type, Text, MIMEType string
		Data                 []byte
	}
	if err := json.Unmarshal(raw.Content, &blocks); err != nil {
		return a, fmt.Errorf("the content of its answer is neither a string nor a list of blocks: %w", err)
	}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			a.content = append(a.content, tool.Text{Text: bounded(b.Text)})
		case "image":
			a.content = append(a.content, tool.Image{Data: b.Data, MIMEType: b.MIMEType})
		default:
			return a, fmt.Errorf("the content of its answer has a block of type %q: text and image are known", b.Type)
		}
	}
	return a, nil
}

// bounded cleans text and cuts what a model is not shown.
func bounded(text string) string {
	lines := strings.Split(textout.Clean(text), "\n")
	kept, _ := textout.Head(lines, textout.Limits{})
	switch {
	case kept == len(lines):
		return strings.Join(lines, "\n")
	case kept == 0:
		return textout.TruncateRunes(lines[0], textout.DefaultMaxBytes/4) + "\n[Truncated: the first line is too long]"
	}
	return fmt.Sprintf("%s\n[Truncated: %d of %d lines shown]", strings.Join(lines[:kept], "\n"), kept, len(lines))
}

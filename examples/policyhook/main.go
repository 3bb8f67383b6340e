// Command policyhook lets a model run a few commands and nothing else. The hook
// sees the call as it will run, after every change of other hooks. A policy keeps
// a model from what it should not try; it is no sandbox (docs/sandbox.md).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/backends/local"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/tool"
)

// onlyCommands is a hook that blocks every call of bash whose script is more than
// the named programs with literal arguments, joined by && || | ; or lines. The
// text is parsed as the shell does, each simple command in it is judged, and what
// can't be judged is blocked. Tools that change things are blocked too.
func onlyCommands(names ...string) call.BeforeHook {
	return func(_ context.Context, r call.Request) (call.Decision, error) {
		switch r.Name {
		case "read", "grep", "find", "ls":
			return call.Decision{}, nil
		case "bash":
		default:
			return call.Decision{Block: true, Reason: "The tool " + r.Name + " is not allowed here."}, nil
		}
		var args struct {
			Command string `json:"command"`
		}
		if err := json.Unmarshal(r.Args, &args); err != nil {
			return call.Decision{}, err // an error blocks
		}
		if reason := judge(args.Command, names); reason != "" {
			return call.Decision{Block: true, Reason: reason + " Allowed are " + strings.Join(names, ", ") + " with plain arguments."}, nil
		}
		return call.Decision{}, nil
	}
}

// judge says why a script is not allowed, or nothing.
func judge(script string, names []string) string {
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return "The command can't be parsed."
	}
	if len(file.Stmts) == 0 {
		return "There is no command."
	}
	reason := ""
	syntax.Walk(file, func(n syntax.Node) bool {
		if reason == "" && n != nil {
			reason = judgeNode(n, names)
		}
		return reason == ""
	})
	return reason
}

func judgeNode(n syntax.Node, names []string) string {
	switch n := n.(type) {
	case *syntax.File, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.BinaryCmd, *syntax.Comment:
		return "" // their parts are judged
	case *syntax.Stmt:
		if len(n.Redirs) > 0 || n.Background || n.Coprocess {
			return "Redirections and background commands are not allowed."
		}
		return ""
	case *syntax.CallExpr:
		if len(n.Assigns) > 0 || len(n.Args) == 0 {
			return "Assignments are not allowed."
		}
		name, _ := plain(n.Args[0])
		if !slices.Contains(names, name) {
			return fmt.Sprintf("The command %q is not allowed.", name)
		}
		for _, word := range n.Args[1:] {
			arg, ok := plain(word)
			if !ok {
				return "Expansions and escapes are not allowed."
			}
			if name == "find" && runsOrDeletes(arg) {
				return "find may not run or delete anything."
			}
		}
		return ""
	}
	return fmt.Sprintf("%T is not allowed.", n) // substitutions, functions, loops, subshells
}

// plain is the text of a word that the shell takes as it is, and whether it is one.
func plain(w *syntax.Word) (text string, ok bool) {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text += part.Value
		case *syntax.SglQuoted:
			if part.Dollar {
				return "", false
			}
			text += part.Value
		case *syntax.DblQuoted:
			inner, ok := plain(&syntax.Word{Parts: part.Parts})
			if !ok || part.Dollar {
				return "", false
			}
			text += inner
		default:
			return "", false
		}
	}
	return text, !strings.ContainsAny(text, "\\$`")
}

// runsOrDeletes reports whether an argument of find does more than find.
func runsOrDeletes(arg string) bool {
	return slices.ContainsFunc([]string{"-exec", "-ok", "-delete", "-fprint", "-fls"}, func(p string) bool { return strings.HasPrefix(arg, p) })
}

// session is what the model says here.
const session = `
turns:
  - toolCalls: [{name: bash, arguments: {command: "ls | sort"}}]
  - toolCalls: [{name: bash, arguments: {command: "ls\nrm -r -f ."}}]
  - expect: [{isError: true, contains: '"rm" is not allowed'}]
    toolCalls: [{name: write, arguments: {path: b.txt, content: x}}]
  - expect: [{isError: true, contains: write is not allowed}]
    text: I may only look.
`

func main() {
	dir, err := os.Getwd()
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), dir, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, out io.Writer) (err error) {
	workspace, err := local.Open(ctx, local.Options{Dir: dir, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workspace.Close()) }()
	list, err := tools.New(workspace.Set(), nil, tools.Options{})
	if err != nil {
		return err
	}
	script, err := scripted.Parse("session", []byte(session))
	if err != nil {
		return err
	}
	active := func() []tool.Tool { return list }
	executor := call.New(call.Options{
		Tools: active, Scope: func() tool.Scope { return tool.Scope{Dir: dir, Root: dir} },
		Before: []call.BeforeHook{onlyCommands("ls", "cat", "sort", "find")}, // the policy comes last
	})
	a, err := agent.New(agent.Options{Provider: script.Provider(nil), Tools: active, Executor: executor})
	if err != nil {
		return err
	}
	a.Subscribe(func(_ context.Context, e agent.Event) error {
		if end, ok := e.(agent.ToolExecutionEnd); ok {
			_, err := fmt.Fprintf(out, "%s denied=%v\n", end.ToolName, end.Denied)
			return err
		}
		return nil
	})
	summary, err := a.Prompt(ctx, llm.UserText("clean up", time.Now().UnixMilli()))
	return errors.Join(err, summary.Err)
}

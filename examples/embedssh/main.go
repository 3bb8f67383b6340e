// Command embedssh runs the loop on a folder of an SSH host: the model and the
// policy stay here, what the tools do happens there.
//
//	embedssh user@host /srv/app session.yaml "the prompt"
//
// The session is one of the scripted provider, so that the example needs no key;
// any llm.Provider takes its place.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/backends/ssh"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/tool"
)

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: embedssh [user@]host folder session prompt")
	}
	me, err := user.Current()
	if err != nil {
		log.Fatal(err)
	}
	target := ssh.Options{Host: os.Args[1], Dir: os.Args[2], Home: me.HomeDir, LocalUser: me.Username}
	if name, host, ok := strings.Cut(target.Host, "@"); ok {
		target.User, target.Host = name, host
	}
	text, err := os.ReadFile(os.Args[3]) //nolint:gosec // the user names this file
	if err != nil {
		log.Fatal(err)
	}
	script, err := scripted.Parse(os.Args[3], text)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), target, script.Provider(nil), os.Args[4], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run asks once and writes what the tools do and what the model says.
func run(ctx context.Context, target ssh.Options, provider llm.Provider, prompt string, out io.Writer) (err error) {
	workspace, err := ssh.Open(ctx, target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workspace.Close()) }() //nolint:contextcheck // closing outlives an abort

	// The tools are the same on every workspace; the set says what this one can do.
	set := workspace.Set() //nolint:contextcheck // calls bring their own
	list, err := tools.New(set, tools.DefaultNames(), tools.Options{})
	if err != nil {
		return err
	}
	active := func() []tool.Tool { return list }
	executor := call.New(call.Options{Tools: active, Scope: func() tool.Scope {
		return tool.Scope{Dir: set.Target.Dir, Root: set.Target.Root}
	}})
	a, err := agent.New(agent.Options{
		Provider: provider, Tools: active, Executor: executor, Limits: agent.Limits{Turns: 50, Repeats: 5},
		System: "You work in " + set.Target.Dir + " on " + target.Host + ".",
	})
	if err != nil {
		return err
	}
	a.Subscribe(func(_ context.Context, e agent.Event) error { return show(out, e) })
	summary, err := a.Prompt(ctx, llm.UserText(prompt, time.Now().UnixMilli()))
	return errors.Join(err, summary.Err)
}

// show is a listener: the loop waits for it, so it does little.
func show(out io.Writer, e agent.Event) error {
	var err error
	switch e := e.(type) {
	case agent.ToolExecutionEnd:
		_, err = fmt.Fprintf(out, "%s: error=%v\n", e.ToolName, e.IsError)
	case agent.MessageEnd:
		if m, ok := e.Message.(*llm.Assistant); ok && m.Text() != "" {
			_, err = fmt.Fprintln(out, m.Text())
		}
	default:
	}
	return err
}

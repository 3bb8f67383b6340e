// Command eventconsumer shows a run as it goes on, from a Feed: a consumer that
// may be slow, or stop, without the loop waiting for it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/tools/tool"
)

// show writes what a feed tells until it ends. Calls are told apart by their ids,
// since they may overlap.
func show(ctx context.Context, feed *agent.Feed, out io.Writer) error {
	names := map[string]string{}
	for {
		e, err := feed.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch e := e.(type) {
		case agent.MessageUpdate:
			if e.Stream.Kind == llm.StreamTextDelta {
				_, err = io.WriteString(out, e.Stream.Delta)
			}
		case agent.ToolExecutionStart:
			names[e.ToolCallID] = e.ToolName
			_, err = fmt.Fprintf(out, "[%s %s]\n", e.ToolName, e.Args)
		case agent.ToolExecutionEnd:
			status := "done"
			if e.IsError {
				status = "failed"
			}
			_, err = fmt.Fprintf(out, "[%s %s]\n", names[e.ToolCallID], status)
		case agent.AgentEnd:
			_, err = fmt.Fprintf(out, "\n[the run ended: %s, %d messages]\n", e.Reason, len(e.Messages))
		default: // other events are for other consumers
		}
		if err != nil {
			return err
		}
	}
}

// session is what the model says here.
const session = `
turns:
  - text: "Let me wait.\n"
    toolCalls: [{name: wait, arguments: {seconds: 0.01}}]
  - text: That was quick.
`

// wait is a tool that takes its time and says how much is left.
type wait struct{}

func (wait) Info() tool.Info {
	return tool.Info{Access: tool.AccessRead, Declaration: tool.Declaration{
		Name: "wait", Description: "Waits.", Parameters: []byte(`{"type":"object","properties":{"seconds":{"type":"number"}}}`),
	}}
}

func (wait) Execute(ctx context.Context, _ tool.Call, update tool.Update) (tool.Result, error) {
	for left := 3; left > 0; left-- {
		update(tool.TextResult(fmt.Sprintf("%d to go", left)))
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return tool.Result{}, context.Cause(ctx)
		}
	}
	return tool.TextResult("waited"), nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	script, err := scripted.Parse("session", []byte(session))
	if err != nil {
		return err
	}
	active := func() []tool.Tool { return []tool.Tool{wait{}} }
	a, err := agent.New(agent.Options{Provider: script.Provider(nil), Tools: active, Executor: call.New(call.Options{Tools: active})})
	if err != nil {
		return err
	}
	feed := a.Feed()
	shown := make(chan error, 1)
	go func() { shown <- show(ctx, feed, out) }()
	summary, err := a.Prompt(ctx, llm.UserText("wait", time.Now().UnixMilli()))
	feed.Close() // what waits in it is still shown
	return errors.Join(err, summary.Err, <-shown)
}

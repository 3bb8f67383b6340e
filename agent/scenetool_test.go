package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/tool"
)

// sceneTool is a tool that does what a line says: "name [kinds]: step; step".
// The kinds are sequential, write, shell, queue (its calls take their places in
// one queue) and typed (it has a schema and adapts an old shape).
type sceneTool struct {
	scene *scene
	info  tool.Info
	typed bool
	steps []string
}

const typedSchema = `{"type":"object","properties":{"path":{"type":"string"},"mode":{"enum":["fast","slow"]},` +
	`"limit":{"type":"integer","minimum":1,"maximum":10}},"required":["path"],"additionalProperties":false}`

func (s *scene) tool(line string) tool.Tool {
	head, body, _ := strings.Cut(line, ":")
	words := strings.Fields(head)
	t := sceneTool{scene: s, info: tool.Info{Declaration: tool.Declaration{Name: words[0]}, Access: tool.AccessRead}}
	queue := false
	for _, kind := range words[1:] {
		switch kind {
		case "sequential":
			t.info.ExecutionMode = tool.Sequential
		case "write", "shell":
			t.info.Access = tool.Access(kind)
		case "typed":
			t.typed, t.info.Parameters = true, json.RawMessage(typedSchema)
		case "queue":
			queue = true
		default:
			s.t.Fatalf("there is no kind %q of tools", kind)
		}
	}
	for step := range strings.SplitSeq(body, ";") {
		if step = strings.TrimSpace(step); step != "" {
			t.steps = append(t.steps, step)
		}
	}
	switch {
	case queue:
		return &queueTool{sceneTool: t}
	case t.typed:
		return typedTool{t}
	}
	return t
}

func (t sceneTool) Info() tool.Info { return t.info }

func (t sceneTool) Execute(ctx context.Context, c tool.Call, update tool.Update) (r tool.Result, err error) {
	if t.scene.trace {
		t.scene.say("  %s runs %s", c.ID, c.Args)
		defer func() { t.scene.say("  %s returns", c.ID) }()
	}
	r = tool.TextResult("did " + t.info.Name)
	for _, step := range t.steps {
		verb, rest, _ := strings.Cut(step, " ")
		switch verb {
		case "say":
			r.Content = []tool.Content{tool.Text{Text: rest}}
		case "details":
			r.Details = map[string]string{"said": rest}
		case "update":
			update(tool.TextResult(rest))
		case "late":
			d, text, _ := strings.Cut(rest, " ")
			time.AfterFunc(t.scene.duration(d), func() {
				t.scene.say("  %s sends %q", c.ID, text)
				update(tool.TextResult(text))
			})
		case "stall": // deaf to the end of its context
			<-time.After(t.scene.duration(rest))
		case "terminate":
			r.Terminate = true
		case "canceled":
			return r, context.Canceled
		case "nested":
			inner, cancel := context.WithTimeout(ctx, t.scene.duration(rest))
			defer cancel()
			<-inner.Done()
			if ctx.Err() == nil {
				r.Content = []tool.Content{tool.Text{Text: "gave up on a part: " + inner.Err().Error()}}
			}
		default:
			if err := t.scene.do(ctx, step, nil); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// typedTool adapts an old shape, file for path.
type typedTool struct{ sceneTool }

func (t typedTool) PrepareArguments(args json.RawMessage) (json.RawMessage, error) {
	t.scene.say("  prepare %s", args)
	if strings.Contains(string(args), "refuse") {
		return nil, errors.New("an old shape that nobody knows")
	}
	return json.RawMessage(strings.Replace(string(args), `"file"`, `"path"`, 1)), nil
}

// queueTool lets its calls run one after the other, as they took their places.
type queueTool struct {
	sceneTool
	mu   sync.Mutex
	last chan struct{}
}

type queuePlace struct {
	*queueTool
	call   tool.Call
	before chan struct{}
	done   chan struct{}
}

func (t *queueTool) Reserve(c tool.Call) tool.Reservation {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := queuePlace{t, c, t.last, make(chan struct{})}
	t.last = p.done
	return p
}

func (p queuePlace) Execute(ctx context.Context, update tool.Update) (tool.Result, error) {
	defer close(p.done)
	if p.before != nil {
		<-p.before
	}
	return p.sceneTool.Execute(ctx, p.call, update)
}

func (p queuePlace) Release() { close(p.done) }

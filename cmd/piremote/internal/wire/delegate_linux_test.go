package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/tool"
)

// scriptedModel answers by a script.
func scriptedModel(t *testing.T, script string) session.Model {
	t.Helper()
	s, err := scripted.Parse("test", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return session.Model{Provider: s.Provider(nil), Info: session.ModelInfo{Provider: "scripted", ID: "test"}}
}

// delegating is a session whose tool delegate starts another session on the same
// workspace, with fewer tools, and waits for it.
type delegating struct {
	t      *testing.T
	w      *Workspace
	model  func() session.Model // of the second session
	scopes chan tool.Scope      // of its calls
	ended  chan struct{}        // closed when what delegate left behind has ended
}

func (d delegating) tool() tool.Tool {
	d.t.Helper()
	type params struct{}
	delegate, err := schema.Define(schema.Spec[params]{
		Name: "delegate", Description: "Lets another session work.",
		Execute: func(ctx context.Context, call tool.Call, _ params, _ tool.Update) (tool.Result, error) {
			go func() { <-call.Scope.Lifetime.Done(); close(d.ended) }()
			return d.run(ctx, call.Scope)
		},
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return delegate
}

// run is the second session's life.
func (d delegating) run(ctx context.Context, of tool.Scope) (result tool.Result, err error) {
	w, err := d.w.Share()
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	list, err := tools.New(w.Set, []string{"read"}, tools.Options{})
	if err != nil {
		return result, err
	}
	child, err := session.New(session.Options{
		Model: d.model(), Tools: append(list, d.probe()), Scope: tool.Scope{ParentID: of.SessionID, CorrelationID: of.CorrelationID},
	})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, child.Close(context.WithoutCancel(ctx))) }()
	summary, err := child.Prompt(ctx, session.Input{Text: "work"})
	if err = errors.Join(err, summary.Err); err != nil {
		return result, err
	}
	var said []string
	for _, item := range child.Messages() {
		switch m := item.Record.(type) {
		case *llm.Assistant:
			said = append(said, m.Text())
		case *llm.ToolResult:
			said = append(said, tool.TextOf(m.Content))
		case *llm.User, *llm.BashExecution, *llm.Custom, *llm.BranchSummary, *llm.CompactionSummary, *llm.Other:
		}
	}
	return tool.TextResult(strings.Join(said, "|")), nil
}

// probe notes the scope of a call.
func (d delegating) probe() tool.Tool {
	type params struct{}
	probe, err := schema.Define(schema.Spec[params]{
		Name: "probe", Description: "Notes where it runs.",
		Execute: func(_ context.Context, call tool.Call, _ params, _ tool.Update) (tool.Result, error) {
			d.scopes <- call.Scope
			return tool.TextResult("noted"), nil
		},
	})
	if err != nil {
		d.t.Error(err)
	}
	return probe
}

// What an orchestrator will rest on: a call starts a second session on the same
// workspace, with its own tools and its own memory; parent and correlation are known to
// its calls; what is left behind lives as long as the session; and a follow-up may come
// from a timer.
func TestASessionWorksForAnother(t *testing.T) {
	w, err := Open(t.Context(), Options{Workspace: config.Workspace{Backend: "local", Path: t.TempDir()}, Config: &config.Config{}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.Set.Target.Dir, "f"), []byte("content\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := delegating{t: t, w: w, scopes: make(chan tool.Scope, 1), ended: make(chan struct{})}
	d.model = func() session.Model {
		return scriptedModel(t, "turns:\n- toolCalls:\n  - {id: one, name: read, arguments: {path: f}}\n  - {id: two, name: probe, arguments: {}}\n"+
			"  - {id: three, name: write, arguments: {path: f, content: x}}\n- text: read it\n")
	}
	list, err := tools.New(w.Set, []string{"read", "write"}, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.New(session.Options{
		Model: scriptedModel(t, "turns:\n- toolCalls: [{id: a, name: delegate, arguments: {}}]\n- text: done\n- text: and this\n"),
		Tools: append(list, d.tool()),
	})
	if err != nil {
		t.Fatal(err)
	}
	settled := make(chan struct{}, 2)
	s.Subscribe(func(e session.Event) {
		if _, ok := e.(session.AgentSettled); ok {
			settled <- struct{}{}
		}
	})
	if summary, err := s.Prompt(t.Context(), session.Input{Text: "go"}); err != nil || summary.Err != nil {
		t.Fatal(summary, err)
	}
	<-settled
	var results []string
	for _, item := range s.Messages() {
		if m, ok := item.Record.(*llm.ToolResult); ok {
			results = append(results, tool.TextOf(m.Content))
		}
	}
	if got := fmt.Sprint(results); !strings.HasPrefix(got, "[|content\n|noted|Tool \"write\" not found") || !strings.HasSuffix(got, "|read it]") {
		t.Errorf("the second session said %q", results)
	}
	scope := <-d.scopes
	if own := s.State().SessionID; scope.ParentID != own || scope.CorrelationID != own || scope.SessionID == own || scope.SessionID == "" {
		t.Errorf("its calls ran for %+v, the first session is %s", scope, own)
	}
	// From a timer, when nothing goes on.
	time.AfterFunc(time.Millisecond, func() {
		if _, err := s.Submit(context.Background(), session.Input{Text: "and?", Behavior: session.FollowUp}); err != nil {
			t.Error(err)
		}
	})
	<-settled
	select {
	case <-d.ended:
		t.Error("what the call left behind ended before the session")
	default:
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

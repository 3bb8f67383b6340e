package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/agent/session/store"
)

// These touch files, so they run on the machine's clock.

func TestForkCloneAndRenew(t *testing.T) {
	here := &store.Workspace{Backend: "local", Root: "/w", Label: "local:/w"}
	hooks := &session.Hooks{}
	var told []string
	session.OnSessionStart.On(hooks, func(_ context.Context, s session.Started) error { told = append(told, s.Reason); return nil })
	x := open(t, session.Options{
		Model: model(t, "turns:\n- text: a\n- text: b\n- text: c\n"), Hooks: hooks,
		Store: store.Options{Dir: t.TempDir(), Workspace: here},
	})
	x.say(t, "one")
	x.say(t, "two")
	first := x.State()
	list := x.ForkMessages()
	if len(list) != 2 || list[1].Text != "two" {
		t.Fatal(list)
	}
	text, cancelled, err := x.Fork(t.Context(), list[1].EntryID)
	if err != nil || cancelled || text != "two" || x.roles() != "user:one assistant:stop" {
		t.Fatalf("%q, %v, %v: %s", text, cancelled, err, x.roles())
	}
	forked := x.State()
	if forked.SessionID == first.SessionID || forked.Path == first.Path {
		t.Error("the fork is the same session")
	}
	if _, _, err := x.Fork(t.Context(), list[1].EntryID); err == nil {
		t.Error("what is not on the branch was forked at")
	}
	x.say(t, "three")
	if cancelled, err := x.Clone(t.Context()); err != nil || cancelled || x.roles() != "user:one assistant:stop user:three assistant:stop" {
		t.Errorf("%v, %v: %s", cancelled, err, x.roles())
	}
	if cancelled, err := x.Renew(t.Context(), first.Path); err != nil || cancelled || x.roles() != "" {
		t.Errorf("%v, %v: %s", cancelled, err, x.roles())
	}
	if cancelled, err := x.Switch(t.Context(), first.Path); err != nil || cancelled || x.roles() != "user:one assistant:stop user:two assistant:stop" {
		t.Errorf("%v, %v: %s", cancelled, err, x.roles())
	}
	same(t, "starts", told, []string{"fork", "fork", "new", "resume"})
	session.OnBeforeSwitch.On(hooks, func(_ context.Context, b *session.BeforeSwitch) error { b.Cancel = true; return nil })
	session.OnBeforeFork.On(hooks, func(_ context.Context, b *session.BeforeFork) error { b.Cancel = true; return nil })
	for name, do := range map[string]func() (bool, error){
		"new":    func() (bool, error) { return x.Renew(t.Context(), "") },
		"switch": func() (bool, error) { return x.Switch(t.Context(), forked.Path) },
		"clone":  func() (bool, error) { return x.Clone(t.Context()) },
	} {
		if cancelled, err := do(); err != nil || !cancelled {
			t.Errorf("%s was not cancelled: %v", name, err)
		}
	}
}

func TestSwitchToAnotherWorkspaceAsksOrRefuses(t *testing.T) {
	dir := t.TempDir()
	there := store.Options{Dir: dir, Workspace: &store.Workspace{Backend: "ssh", Host: "far", Root: "/w", Label: "ssh://far/w"}}
	a := open(t, session.Options{Model: model(t, "turns:\n- text: a\n"), Store: there})
	a.say(t, "one")
	path := a.State().Path
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	here := store.Options{Dir: dir, Workspace: &store.Workspace{Backend: "local", Root: "/w", Label: "local:/w"}}
	b := open(t, session.Options{Model: model(t, "turns:\n- text: b\n"), Store: here})
	if _, err := b.Switch(t.Context(), path); err == nil || !strings.Contains(err.Error(), "ssh://far/w") {
		t.Errorf("it was not refused: %v", err)
	}
	asked := ""
	for _, yes := range []bool{false, true} {
		b.SetAsker(func(_ context.Context, d session.Dialog) (session.Answer, error) {
			asked = d.Message
			return session.Answer{Confirmed: yes}, nil
		})
		if _, err := b.Switch(t.Context(), path); (err == nil) != yes || !strings.Contains(asked, "ssh://far/w") {
			t.Errorf("confirmed %v: %v, asked %q", yes, err, asked)
		}
	}
	if b.roles() != "user:one assistant:stop" {
		t.Errorf("the conversation is %s", b.roles())
	}
}

func TestLOOP03OutcomesAreKeptAtOnce(t *testing.T) {
	quick, stalled := make(chan struct{}), make(chan struct{})
	dir := t.TempDir()
	tools := []session.Definition{
		define("quick", func(context.Context, *session.Session) (string, error) { return "done", nil }),
		define("fails", func(context.Context, *session.Session) (string, error) { return "", errors.New("broken") }),
		define("stalls", func(ctx context.Context, _ *session.Session) (string, error) {
			close(quick)
			<-stalled
			return "late", nil
		}),
	}
	x := open(t, session.Options{
		Model: model(t, "turns:\n- toolCalls: [{id: q, name: quick}, {id: f, name: fails}, {id: s, name: stalls}]\n- text: a\n"), Definitions: tools,
		Store: store.Options{Dir: dir},
	})
	kept := make(chan struct{}, 3)
	x.Subscribe(func(e session.Event) {
		if line, err := session.EventJSON(e); err == nil && strings.Contains(string(line), `"tool_execution_end"`) {
			kept <- struct{}{}
		}
	})
	if _, err := x.Submit(t.Context(), session.Input{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	<-quick
	<-kept
	<-kept
	// As another process finds it after this one was killed.
	log, err := store.Read(x.State().Path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := log.Context(log.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "recovered", c.Recovered, []string{"q", "f"})
	same(t, "unknown", c.Unknown, []string{"s"})
	close(stalled)
	if err := x.WaitForIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Whoever leaves a branch may take notes of it along; what fails leaves all as it was.
func TestMoveSummarizesTheBranchThatIsLeft(t *testing.T) {
	hooks := &session.Hooks{}
	var moves []string
	session.OnTree.On(hooks, func(_ context.Context, m session.Moved) error { moves = append(moves, m.To); return nil })
	x := open(t, session.Options{
		Model: model(t, "turns:\n- text: a\n- text: b\n- text: notes of two\n- text: c\n- error: {kind: invalid request}\n- text: d\n"), Hooks: hooks,
	})
	x.say(t, "one")
	entries := x.Log().Entries()
	at := entries[len(entries)-1].Meta().ID
	x.say(t, "two")
	if cancelled, err := x.Move(t.Context(), at, session.MoveOptions{Summarize: true}); err != nil || cancelled {
		t.Fatal(cancelled, err)
	}
	if got := x.roles(); got != "user:one assistant:stop other" {
		t.Errorf("after the move: %s", got)
	}
	x.say(t, "three")
	leaf := x.Log().Leaf()
	if _, err := x.Move(t.Context(), at, session.MoveOptions{Summarize: true}); err == nil || x.Log().Leaf() != leaf {
		t.Errorf("the summary failed: %v, the leaf moved: %v", err, x.Log().Leaf() != leaf)
	}
	if _, err := x.Move(t.Context(), "nothing", session.MoveOptions{}); !errors.Is(err, store.ErrNoEntry) || x.Log().Leaf() != leaf {
		t.Errorf("to nowhere: %v", err)
	}
	session.OnBeforeTree.On(hooks, func(_ context.Context, b *session.BeforeTree) error {
		b.Cancel, b.Summary = b.To == "", "by a hook"
		return nil
	})
	if cancelled, err := x.Move(t.Context(), "", session.MoveOptions{}); err != nil || !cancelled || x.Log().Leaf() != leaf {
		t.Errorf("prevented: %v, %v", cancelled, err)
	}
	if _, err := x.Move(t.Context(), at, session.MoveOptions{}); err != nil {
		t.Fatal(err)
	}
	last, ok := x.Log().Entries()[len(x.Log().Entries())-1].(store.BranchSummary)
	if !ok || last.Summary != "by a hook" || !last.FromHook {
		t.Errorf("%+v", last)
	}
	same(t, "moves", moves, []string{at, at})
}

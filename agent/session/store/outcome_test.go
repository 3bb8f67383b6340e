package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// transcript is what a model sees, a line a message.
func transcript(messages []llm.Message) []string {
	var list []string
	for _, m := range messages {
		switch m := m.(type) {
		case *llm.User:
			list = append(list, "user: "+tool.TextOf(m.Content))
		case *llm.Assistant:
			line := "assistant: " + m.Text()
			for _, c := range m.ToolCalls() {
				line += " " + c.ID
			}
			list = append(list, line)
		case *llm.ToolResult:
			text, _, _ := strings.Cut(tool.TextOf(m.Content), ":")
			list = append(list, fmt.Sprintf("%s: %s (error %v)", m.ToolCallID, text, m.IsError))
		}
	}
	return list
}

func outcome(t *testing.T, call string) store.Custom {
	t.Helper()
	kept, err := store.Outcome(result(call, "result of "+call))
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// The process ends while the second of three parallel calls runs: nothing that was
// final is lost, the order is that of the calls, and what is unknown is said.
func TestOneOfThreeParallelCallsUnfinished(t *testing.T) {
	l := create(t, options(t.TempDir()))
	add(t, l, says("go"), answers("", "c1", "c2", "c3"), outcome(t, "c3"), outcome(t, "c1"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, l.Path())
	c, err := l.Context(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"user: go", "assistant:  c1 c2 c3", "c1: result of c1 (error false)",
		"c2: interrupted, outcome unknown (error true)", "c3: result of c3 (error false)",
	}
	if diff := cmp.Diff(want, transcript(c.Messages)); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(c.Recovered, []string{"c1", "c3"}) || !slices.Equal(c.Unknown, []string{"c2"}) {
		t.Errorf("recovered %v, unknown %v", c.Recovered, c.Unknown)
	}
	added, err := l.Settle()
	if err != nil || len(added) != 3 {
		t.Fatalf("%v, %v", added, err)
	}
	if added, err := l.Settle(); err != nil || len(added) != 0 {
		t.Errorf("settled twice: %v, %v", added, err)
	}
	add(t, l, says("and now"), answers("done"))
	c, err = l.Context(l.Leaf())
	if err != nil || len(c.Recovered)+len(c.Unknown) != 0 {
		t.Fatal(c.Recovered, c.Unknown, err)
	}
	want = append(want, "user: and now", "assistant: done")
	if diff := cmp.Diff(want, transcript(c.Messages)); diff != "" {
		t.Error(diff)
	}
}

// The process ends after any of the records of a batch: each call has one result.
func TestEachCallHasOneResultWhereverTheProcessEnds(t *testing.T) {
	batch := func(t *testing.T) []store.Entry {
		return []store.Entry{
			outcome(t, "c2"), outcome(t, "c1"), outcome(t, "c3"),
			store.Message{Message: result("c1", "result of c1")},
			store.Message{Message: result("c2", "result of c2")},
			store.Message{Message: result("c3", "result of c3")},
		}
	}
	for n := range len(batch(t)) + 1 {
		for _, resume := range []bool{false, true} {
			l := create(t, options(t.TempDir()))
			add(t, l, says("go"), answers("", "c1", "c2", "c3"))
			add(t, l, batch(t)[:n]...)
			if resume {
				if _, err := l.Settle(); err != nil {
					t.Fatal(err)
				}
			}
			add(t, l, says("on"))
			c, err := l.Context(l.Leaf())
			if err != nil {
				t.Fatal(err)
			}
			got := transcript(c.Messages)
			if len(got) != 6 || got[5] != "user: on" {
				t.Fatalf("after %d records: %q", n, got)
			}
			for i, call := range []string{"c1", "c2", "c3"} {
				final := n >= 3 || n == 2 && call != "c3" || n == 1 && call == "c2"
				want := map[bool]string{true: call + ": result of " + call + " (error false)", false: call + ": interrupted, outcome unknown (error true)"}[final]
				if got[2+i] != want {
					t.Errorf("after %d records: %q, want %q", n, got[2+i], want)
				}
			}
		}
	}
}

// Providers that count their calls anew in each answer give ids that come back.
func TestCallIDsMayComeBack(t *testing.T) {
	l := create(t, options(t.TempDir()))
	add(t, l, says("go"), answers("", "c", "c"), outcome(t, "c"), store.Message{Message: result("c", "first")},
		store.Message{Message: result("c", "second")}, answers("", "c"), store.Message{Message: result("gone", "nobody asked")})
	c, err := l.Context(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"user: go", "assistant:  c c", "c: first (error false)", "c: second (error false)",
		"assistant:  c", "c: interrupted, outcome unknown (error true)",
	}
	if diff := cmp.Diff(want, transcript(c.Messages)); diff != "" {
		t.Error(diff)
	}
}

func TestCallsOfAnAnswerThatDidNotEndWereNotExecuted(t *testing.T) {
	l := create(t, options(t.TempDir()))
	m := answers("", "c1")
	m.Message.(*llm.Assistant).StopReason = llm.StopAborted
	add(t, l, says("go"), m, says("again"))
	c, err := l.Context(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"user: go", "assistant:  c1", "c1: not executed (error true)", "user: again"}
	if diff := cmp.Diff(want, transcript(c.Messages)); diff != "" || len(c.Unknown) != 0 {
		t.Error(diff, c.Unknown)
	}
}

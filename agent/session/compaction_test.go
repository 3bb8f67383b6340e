package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/agent/session/compact"
)

// compactions keeps of events those of compactions and runs.
func compactions(lines []string) []string {
	var kept []string
	for _, l := range lines {
		if strings.HasPrefix(l, "compaction") || strings.HasPrefix(l, "summarization") || strings.HasPrefix(l, "agent_") {
			kept = append(kept, l)
		}
	}
	return kept
}

func TestCompactByHand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hooks := &session.Hooks{}
		done := 0
		session.OnCompact.On(hooks, func(context.Context, session.Compacted) error { done++; return nil })
		x := open(t, session.Options{
			Model: model(t, "turns:\n- text: one\n- text: two\n- error: {status: 503}\n- text: the gist\n- text: three\n"), Hooks: hooks,
			Compaction: session.CompactionOptions{KeepRecent: 3},
		})
		x.say(t, "first "+strings.Repeat("long ", 100))
		x.say(t, "second")
		x.told()
		r, err := x.Compact(t.Context(), "mind the paths")
		if err != nil {
			t.Fatal(err)
		}
		if r.Summary != "the gist" || r.EstimatedTokensAfter >= r.TokensBefore || done != 1 {
			t.Errorf("%+v, told %d times", r, done)
		}
		if x.roles() != "summary:the gist user:second assistant:stop" {
			t.Errorf("the conversation is %s", x.roles())
		}
		same(t, "events", x.told(), []string{
			`compaction_start reason="manual"`, "summarization_retry_scheduled attempt=1", `summarization_retry_attempt_start reason="manual"`,
			"summarization_retry_finished", `compaction_end willRetry=false aborted=false reason="manual"`,
		})
		x.say(t, "third")
		if x.roles() != "summary:the gist user:second assistant:stop user:third assistant:stop" {
			t.Errorf("the conversation is %s", x.roles())
		}
	})
}

func TestCompactionThatFailsTellsItsHooksLast(t *testing.T) {
	for _, c := range []struct {
		name, script, keep string
		hook               func(*session.BeforeCompact)
		abort              bool
		want               session.CompactFailed
	}{
		{name: "short", script: "turns:\n- text: a\n", want: session.CompactFailed{Reason: session.Manual, ErrorMessage: compact.ErrShort.Error()}},
		{name: "provider", script: "turns:\n- text: a\n- text: b\n- error: {status: 400, message: no}\n", want: session.CompactFailed{Reason: session.Manual, ErrorMessage: "invalid request (HTTP 400): no"}},
		{name: "hook", script: "turns:\n- text: a\n- text: b\n", hook: func(b *session.BeforeCompact) { b.Cancel = true }, want: session.CompactFailed{Reason: session.Manual, Aborted: true}},
		{name: "aborted", script: "turns:\n- text: a\n- text: b\n- text: c\n  delay: 1h\n", abort: true, want: session.CompactFailed{Reason: session.Manual, Aborted: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				hooks := &session.Hooks{}
				var order []string
				var failed session.CompactFailed
				session.OnCompactFailed.On(hooks, func(_ context.Context, f session.CompactFailed) error {
					failed, order = f, append(order, "hook")
					return nil
				})
				if c.hook != nil {
					session.OnBeforeCompact.On(hooks, func(_ context.Context, b *session.BeforeCompact) error { c.hook(b); return nil })
				}
				x := open(t, session.Options{Model: model(t, c.script), Hooks: hooks, Compaction: session.CompactionOptions{KeepRecent: 2}})
				if c.name != "short" {
					x.say(t, "one")
					x.say(t, "two")
				}
				x.Subscribe(func(e session.Event) {
					switch e.(type) {
					case session.CompactionStart:
						order = append(order, "start")
						if c.abort {
							go func() { _ = x.Abort(context.Background()) }()
						}
					case session.CompactionEnd:
						order = append(order, "end")
					default: // of the run
					}
				})
				before := len(x.Log().Entries())
				_, err := x.Compact(t.Context(), "")
				if err == nil || failed != c.want {
					t.Errorf("%v, the hook was told %+v", err, failed)
				}
				same(t, "order", order, []string{"start", "end", "hook"})
				if len(x.Log().Entries()) != before {
					t.Error("an entry was added")
				}
			})
		})
	}
}

func TestLOOP10OverflowIsCompactedOnce(t *testing.T) {
	overflow := "- error: {kind: context overflow, message: too long}\n"
	for _, c := range []struct {
		name, script string
		off          bool
		reason       agent.StopReason
		want         []string
	}{
		{
			"and the answer comes", "turns:\n- text: a\n" + overflow + "- text: gist\n- text: done\n", false, agent.StopDone,
			[]string{
				"agent_start", `agent_end willRetry=true reason="error"`, `compaction_start reason="overflow"`,
				`compaction_end willRetry=true aborted=false reason="overflow"`, "agent_start", `agent_end willRetry=false reason="done"`, "agent_settled aborted=false",
			},
		},
		{
			"and fails again", "turns:\n- text: a\n" + overflow + "- text: gist\n" + overflow, false, agent.StopError,
			[]string{
				"agent_start", `agent_end willRetry=true reason="error"`, `compaction_start reason="overflow"`,
				`compaction_end willRetry=true aborted=false reason="overflow"`, "agent_start", `agent_end willRetry=false reason="error"`,
				`compaction_end willRetry=false aborted=false reason="overflow"`, "agent_settled aborted=false",
			},
		},
		{
			"unless it is off", "turns:\n- text: a\n" + overflow, true, agent.StopError,
			[]string{"agent_start", `agent_end willRetry=false reason="error"`, "agent_settled aborted=false"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := open(t, session.Options{Model: model(t, c.script), Compaction: session.CompactionOptions{KeepRecent: 1, Off: c.off}})
				x.say(t, "one "+strings.Repeat("long ", 50))
				x.told()
				if s := x.say(t, "two"); s.Reason != c.reason {
					t.Errorf("the run ended by %s, %v", s.Reason, s.Err)
				}
				same(t, "events", compactions(x.told()), c.want)
			})
		})
	}
}

// An answer that ends for want of room is asked for again, once, after compaction.
func TestLOOP10AnswerCutShortIsAskedForAgainOnce(t *testing.T) {
	short := "- text: half of\n  stopReason: length\n  usage: {input: 90, output: 5}\n"
	whole := "- text: all that may be\n  stopReason: length\n  usage: {input: 90, output: 50}\n"
	for _, c := range []struct {
		name, script string
		reason       agent.StopReason
		want         []string
		roles        string
	}{
		{
			"and the answer comes", "turns:\n- text: a\n" + short + "- text: gist\n- text: done\n", agent.StopDone,
			[]string{
				"agent_start", `agent_end willRetry=true reason="length"`, `compaction_start reason="overflow"`,
				`compaction_end willRetry=true aborted=false reason="overflow"`, "agent_start", `agent_end willRetry=false reason="done"`, "agent_settled aborted=false",
			},
			"summary:gist user:two assistant:stop",
		},
		{
			"and is cut again", "turns:\n- text: a\n" + short + "- text: gist\n" + short, agent.StopLength,
			[]string{
				"agent_start", `agent_end willRetry=true reason="length"`, `compaction_start reason="overflow"`,
				`compaction_end willRetry=true aborted=false reason="overflow"`, "agent_start", `agent_end willRetry=false reason="length"`,
				`compaction_end willRetry=false aborted=false reason="overflow"`, "agent_settled aborted=false",
			},
			"summary:gist user:two assistant:length",
		},
		{
			"unless it is as long as it may be", "turns:\n- text: a\n" + whole, agent.StopLength,
			[]string{"agent_start", `agent_end willRetry=false reason="length"`, "agent_settled aborted=false"},
			"user:one " + strings.Repeat("long ", 50) + " assistant:stop user:two assistant:length",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := model(t, c.script)
				m.Info.MaxTokens = 50
				x := open(t, session.Options{Model: m, Compaction: session.CompactionOptions{KeepRecent: 1}})
				x.say(t, "one "+strings.Repeat("long ", 50))
				x.told()
				if s := x.say(t, "two"); s.Reason != c.reason {
					t.Errorf("the run ended by %s, %v", s.Reason, s.Err)
				}
				same(t, "events", compactions(x.told()), c.want)
				if x.roles() != c.roles {
					t.Errorf("the conversation is %s", x.roles())
				}
			})
		})
	}
}

func TestCompactionByThreshold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, session.Options{
			Model:      model(t, "turns:\n- text: a\n- text: b\n  usage: {input: 90000, output: 1}\n- text: gist\n- text: c\n"),
			Compaction: session.CompactionOptions{KeepRecent: 2},
		})
		x.say(t, "one")
		x.told()
		x.say(t, "two")
		same(t, "events", compactions(x.told()), []string{
			"agent_start", `agent_end willRetry=false reason="done"`, `compaction_start reason="threshold"`,
			`compaction_end willRetry=false aborted=false reason="threshold"`, "agent_settled aborted=false",
		})
		if x.roles() != "summary:gist user:two assistant:stop" {
			t.Errorf("the conversation is %s", x.roles())
		}
		// What the last answer was counted with is gone: it does not compact again.
		x.say(t, "three")
		if x.roles() != "summary:gist user:two assistant:stop user:three assistant:stop" {
			t.Errorf("the conversation is %s", x.roles())
		}
	})
}

func TestHookGivesTheSummary(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hooks := &session.Hooks{}
		replaced := 0
		session.OnBeforeCompact.On(hooks, func(_ context.Context, b *session.BeforeCompact) error {
			replaced = len(b.Messages)
			b.Summary, b.Details = "by hand", []byte(`{"a":1}`)
			return nil
		})
		x := open(t, session.Options{Model: model(t, "turns:\n- text: a\n- text: b\n"), Hooks: hooks, Compaction: session.CompactionOptions{KeepRecent: 2}})
		x.say(t, "one")
		x.say(t, "two")
		if r, err := x.Compact(t.Context(), ""); err != nil || r.Summary != "by hand" || r.Usage != nil || replaced != 2 {
			t.Errorf("%+v, %v, %d replaced", r, err, replaced)
		}
	})
}

// A call and its result are never parted.
func TestCompactionKeepsCallsWithTheirResults(t *testing.T) {
	bubble(t, func(t *testing.T) {
		big := define("big", func(context.Context, *session.Session) (string, error) { return strings.Repeat("x", 8000), nil })
		x := open(t, session.Options{
			Model:       model(t, "turns:\n- toolCalls: [{name: big}, {name: big}]\n- text: a\n- text: gist\n"),
			Definitions: []session.Definition{big}, Compaction: session.CompactionOptions{KeepRecent: 1000},
		})
		x.say(t, "one")
		if _, err := x.Compact(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		log := x.Log()
		c, err := log.Context(log.Leaf())
		if err != nil {
			t.Fatal(err)
		}
		calls, results := 0, 0
		for _, m := range c.Messages {
			switch m := m.(type) {
			case *llm.Assistant:
				calls += len(m.ToolCalls())
			case *llm.ToolResult:
				results++
			case *llm.User:
			}
		}
		if calls != results {
			t.Errorf("%d calls have %d results: %s", calls, results, x.roles())
		}
	})
}

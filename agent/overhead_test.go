package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// instant answers at once with a number of calls, turn after turn, and notes
// when each request came.
type instant struct {
	calls, turns int
	asked        func(turn int)
	turn         int
}

func (p *instant) Stream(_ context.Context, _ llm.Request, emit func(llm.StreamEvent)) (*llm.Assistant, error) {
	if p.asked != nil {
		p.asked(p.turn)
	}
	p.turn++
	m := &llm.Assistant{Provider: "instant", Model: "instant", StopReason: llm.StopEnd}
	if p.turn <= p.turns {
		m.StopReason = llm.StopToolUse
		for i := range p.calls {
			m.Content = append(m.Content, &llm.ToolCall{ID: fmt.Sprint(p.turn, ".", i), Name: "a", Arguments: json.RawMessage(`{"path":"a.txt","limit":3}`)})
		}
	}
	emit(llm.StreamEvent{Kind: llm.StreamStart, Partial: m})
	return m, nil
}

// nothing is a tool with a schema that does nothing.
type nothing struct{ info tool.Info }

func (n nothing) Info() tool.Info { return n.info }

func (nothing) Execute(context.Context, tool.Call, tool.Update) (tool.Result, error) {
	return tool.TextResult("did a"), nil
}

// overhead is an agent with two listeners and no store, on which only the loop
// costs anything.
func overhead(tb testing.TB, p *instant) *agent.Agent {
	tb.Helper()
	list := []tool.Tool{nothing{tool.Info{
		Declaration: tool.Declaration{Name: "a", Parameters: json.RawMessage(typedSchema)}, Access: tool.AccessRead,
	}}}
	all := func() []tool.Tool { return list }
	a, err := agent.New(agent.Options{Provider: p, Tools: all, Executor: call.New(call.Options{Tools: all})})
	if err != nil {
		tb.Fatal(err)
	}
	heard := 0
	for range 2 {
		a.Subscribe(func(context.Context, agent.Event) error {
			heard++
			return nil
		})
	}
	return a
}

func run(tb testing.TB, a *agent.Agent, p *instant) {
	tb.Helper()
	s, err := a.Prompt(tb.Context(), prompt("go"))
	if err != nil || s.Reason != agent.StopDone || s.ToolCalls["a"] != p.calls*p.turns {
		tb.Fatalf("%+v, %v", s, err)
	}
}

// BenchmarkOverheadBatch is the loop's cost for each call of batches of 100: the
// median over the batches of sessions of ten.
func BenchmarkOverheadBatch(b *testing.B) {
	var took []time.Duration
	b.ReportAllocs()
	for range b.N {
		at := make([]time.Time, 11)
		p := &instant{calls: 100, turns: 10, asked: func(turn int) { at[turn] = time.Now() }}
		run(b, overhead(b, p), p)
		for turn := range 10 {
			took = append(took, at[turn+1].Sub(at[turn])/100)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "µs/call")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOverheadTurns is the loop's cost for each turn of one call, in a
// session of 2,100 turns: the median over the turns 100 to 300, and how much more
// the turns 1,900 to 2,100 take.
func BenchmarkOverheadTurns(b *testing.B) {
	var early, late []time.Duration
	for range b.N {
		at := make([]time.Time, 2102)
		p := &instant{calls: 1, turns: 2100, asked: func(turn int) { at[turn] = time.Now() }}
		run(b, overhead(b, p), p)
		for turn := range 200 {
			early = append(early, at[turn+101].Sub(at[turn+100]))
			late = append(late, at[turn+1901].Sub(at[turn+1900]))
		}
	}
	slices.Sort(early)
	slices.Sort(late)
	first, last := early[len(early)/2], late[len(late)/2]
	b.ReportMetric(float64(first.Nanoseconds())/1000, "µs/call")
	b.ReportMetric(float64(last)/float64(first), "late/early")
	b.ReportMetric(0, "ns/op")
}

// What a turn allocates does not grow with the conversation: nothing of it is
// copied for each turn, and memory is linear in it.
func TestTurnsAllocateTheSame(t *testing.T) {
	type sample struct{ mallocs, bytes uint64 }
	marks := map[int]sample{}
	p := &instant{calls: 1, turns: 2100, asked: func(turn int) {
		if turn%100 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			marks[turn] = sample{m.Mallocs, m.TotalAlloc}
		}
	}}
	run(t, overhead(t, p), p)
	early := sample{marks[400].mallocs - marks[200].mallocs, marks[400].bytes - marks[200].bytes}
	late := sample{marks[2100].mallocs - marks[1900].mallocs, marks[2100].bytes - marks[1900].bytes}
	t.Logf("a turn allocates %d B in %d pieces, then %d B in %d", early.bytes/200, early.mallocs/200, late.bytes/200, late.mallocs/200)
	// The list of messages grows by a quarter at a time.
	if late.mallocs > early.mallocs*105/100 || late.bytes > early.bytes*13/10 {
		t.Errorf("200 turns allocate %+v at first and %+v in the end", early, late)
	}
}

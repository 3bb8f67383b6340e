package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/piremote/piremote/agent/llm"
)

// Limits end a run by a reason of their own; zero fields mean no limit. All but
// Time are looked at when a batch has ended, so that its calls have results: a
// run may exceed ToolCalls and Cost by one batch. Time aborts what is under way.
type Limits struct {
	Turns     int
	ToolCalls int
	Cost      float64 // US dollars
	Time      time.Duration
	// Repeats ends a run after that many identical batches of calls in a row
	// (hazard LOOP-09).
	Repeats int
}

// errTime is the cause of a run that ran out of time.
var errTime = fmt.Errorf("the time limit of the run was reached: %w", errAbort)

type limiter struct {
	limits  Limits
	batch   string // the last batch of calls, canonical
	repeats int
}

// reset forgets the calls before a person said something.
func (l *limiter) reset() { l.batch, l.repeats = "", 0 }

// reached names the limit that the run has come to, or is empty.
func (l *limiter) reached(s Summary, answer *llm.Assistant) StopReason {
	if l.limits.Repeats > 0 {
		if batch := canonicalBatch(answer.ToolCalls()); batch == l.batch && batch != "" {
			l.repeats++
		} else {
			l.batch, l.repeats = batch, 1
		}
	}
	calls := 0
	for _, n := range s.ToolCalls {
		calls += n
	}
	switch {
	case l.limits.Turns > 0 && s.Turns >= l.limits.Turns:
		return StopTurns
	case l.limits.ToolCalls > 0 && calls >= l.limits.ToolCalls:
		return StopToolCalls
	case l.limits.Cost > 0 && s.Usage.Cost >= l.limits.Cost:
		return StopCost
	case l.limits.Repeats > 0 && l.repeats >= l.limits.Repeats:
		return StopRepeats
	}
	return ""
}

// canonicalBatch spells calls without their ids and with sorted keys.
func canonicalBatch(calls []*llm.ToolCall) string {
	var b bytes.Buffer
	for _, c := range calls {
		arguments := string(c.Arguments)
		var value any
		if json.Unmarshal(c.Arguments, &value) == nil {
			if text, err := json.Marshal(value); err == nil {
				arguments = string(text)
			}
		}
		fmt.Fprintf(&b, "%s %s\n", c.Name, arguments)
	}
	return b.String()
}

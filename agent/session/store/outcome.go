package store

import (
	"encoding/json"
	"fmt"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// OutcomeType is the type of the Custom entries that keep the outcome of a call
// from the moment it is final until its result is in the conversation.
const OutcomeType = "tool_outcome"

// unknownOutcome is what a model hears about a call that nobody saw the end of.
const unknownOutcome = "interrupted, outcome unknown: the program ended while this call ran; what it did may be done, in part or whole. Look before you repeat it."

// unfinishedAnswer is what it hears about a call of an answer that did not end.
const unfinishedAnswer = "not executed: the answer did not end"

// Outcome is the entry to append as soon as the outcome of a call is final.
func Outcome(result *llm.ToolResult) (Custom, error) {
	data, err := json.Marshal(result)
	if err != nil {
		return Custom{}, fmt.Errorf("the outcome of the call %s can't be written as JSON: %w", result.ToolCallID, err)
	}
	return Custom{CustomType: OutcomeType, Data: data}, nil
}

// outcome is the result that an entry keeps, or nil.
func outcome(e Entry) *llm.ToolResult {
	c, ok := e.(Custom)
	if !ok || c.CustomType != OutcomeType {
		return nil
	}
	m, err := llm.UnmarshalMessage(c.Data)
	if err != nil {
		return nil
	}
	r, _ := m.(*llm.ToolResult)
	return r
}

// round is an answer with what came after it, up to the next one.
type round struct {
	answer   *llm.Assistant
	time     int64
	results  map[string][]*llm.ToolResult // by call, in order
	outcomes map[string][]*llm.ToolResult
	rest     []llm.Message
}

func newRound(answer *llm.Assistant) *round {
	return &round{answer: answer, results: map[string][]*llm.ToolResult{}, outcomes: map[string][]*llm.ToolResult{}}
}

// settle fills in what models get to see of the parts.
func (c *Context) settle(parts []part) {
	now := newRound(nil)
	for _, p := range parts {
		if r := outcome(p.entry); r != nil {
			now.outcomes[r.ToolCallID] = append(now.outcomes[r.ToolCallID], r)
		}
		now.time = p.entry.Meta().Time.UnixMilli()
		for _, i := range p.items {
			switch m := llm.ToModel(i.Record).(type) {
			case nil:
			case *llm.Assistant:
				c.close(now)
				now = newRound(m)
				now.time = p.entry.Meta().Time.UnixMilli()
			case *llm.ToolResult:
				now.results[m.ToolCallID] = append(now.results[m.ToolCallID], m)
			case *llm.User:
				now.rest = append(now.rest, m)
			}
		}
	}
	c.close(now)
}

// close adds a round: the answer, one result for each of its calls, and the rest. A
// result without a call is left out: no provider would take it.
func (c *Context) close(r *round) {
	if r.answer != nil {
		c.Messages = append(c.Messages, r.answer)
		for _, call := range r.answer.ToolCalls() {
			result, how := r.take(call)
			switch how {
			case outcomeRecovered:
				c.Recovered = append(c.Recovered, call.ID)
			case outcomeUnknown:
				c.Unknown = append(c.Unknown, call.ID)
			case outcomeKnown:
			}
			c.Messages = append(c.Messages, result)
		}
	}
	c.Messages = append(c.Messages, r.rest...)
}

type knowledge int

const (
	outcomeKnown knowledge = iota
	outcomeRecovered
	outcomeUnknown
)

// take returns the result of a call, and how it is known. Calls of one answer may
// share an id: each takes the next result.
func (r *round) take(call *llm.ToolCall) (*llm.ToolResult, knowledge) {
	if list := r.results[call.ID]; len(list) > 0 {
		r.results[call.ID] = list[1:]
		if kept := r.outcomes[call.ID]; len(kept) > 0 {
			r.outcomes[call.ID] = kept[1:] // it is that of this result
		}
		return list[0], outcomeKnown
	}
	if list := r.outcomes[call.ID]; len(list) > 0 {
		r.outcomes[call.ID] = list[1:]
		return list[0], outcomeRecovered
	}
	result := &llm.ToolResult{ToolCallID: call.ID, ToolName: call.Name, IsError: true, Timestamp: r.time}
	switch r.answer.StopReason {
	case llm.StopAborted, llm.StopError:
		result.Content = []tool.Content{tool.Text{Text: unfinishedAnswer}}
		return result, outcomeKnown
	case llm.StopEnd, llm.StopLength, llm.StopToolUse, llm.StopDeferred:
	}
	result.Content = []tool.Content{tool.Text{Text: unknownOutcome}}
	return result, outcomeUnknown
}

// Settle appends the results that are missing after the last answer on the way to
// the leaf: from outcomes, else that the outcome is unknown. It returns the entries.
// A session that is resumed calls it before anything else, so that other readers of
// the file find each call with its result too.
func (l *Log) Settle() ([]Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var r *round
	for _, e := range l.branch(l.leaf) {
		if o := outcome(e); o != nil && r != nil {
			r.outcomes[o.ToolCallID] = append(r.outcomes[o.ToolCallID], o)
		}
		m, ok := e.(Message)
		if !ok {
			continue
		}
		switch m := m.Message.(type) {
		case *llm.Assistant:
			r = newRound(m)
		case *llm.ToolResult:
			if r != nil {
				r.results[m.ToolCallID] = append(r.results[m.ToolCallID], m)
			}
		case *llm.User, *llm.BashExecution, *llm.Custom, *llm.BranchSummary, *llm.CompactionSummary, *llm.Other:
		}
	}
	if r == nil {
		return nil, nil
	}
	r.time = l.options.Clock().UnixMilli()
	var added []Entry
	for _, call := range r.answer.ToolCalls() {
		had := len(r.results[call.ID])
		result, _ := r.take(call)
		if had > 0 {
			continue
		}
		e, err := l.append(Message{Message: result})
		if err != nil {
			return added, err
		}
		added = append(added, e)
	}
	return added, nil
}

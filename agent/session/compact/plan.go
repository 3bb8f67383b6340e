package compact

import (
	"errors"
	"slices"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
)

// KeepRecent is how many tokens of the end stay as they are where nothing else is
// said; Reserve is how many of a model's window stay free.
const (
	KeepRecent = 20000
	Reserve    = 16384
)

// ErrShort says that a compaction would take nothing out.
var ErrShort = errors.New("there is nothing to compact: the conversation is short, or has just been compacted")

// Plan is what a compaction does.
type Plan struct {
	// FirstKeptID is the entry from which on the conversation stays.
	FirstKeptID string
	// History is what the summary replaces. Prefix is the beginning of a turn whose
	// end stays, if a turn is too long to stay whole; it gets a summary of its own.
	History, Prefix []llm.Record
	// Previous is the summary of the compaction before, which History does not
	// hold; the new one takes it up.
	Previous string
	// Tokens is about what the context took before.
	Tokens int64
	// Files are those that the replaced part read and changed.
	Files Files
}

// Make plans the compaction of the context at the end of a way, so that about keep
// tokens of its end stay. A call and its result are never parted.
func Make(way []store.Entry, items []store.Item, keep int64) (Plan, error) {
	if len(way) == 0 {
		return Plan{}, ErrShort
	}
	if _, ok := way[len(way)-1].(store.Compaction); ok {
		return Plan{}, ErrShort
	}
	p := Plan{Tokens: Tokens(way, items), Files: newFiles()}
	for len(items) > 0 { // what the compaction before put first
		c, ok := items[0].Entry.(store.Compaction)
		if !ok {
			break
		}
		p.Previous = c.Summary
		if !c.FromHook {
			p.Files.addDetails(c.Details)
		}
		items = items[1:]
	}
	cut := cutAt(items, keep)
	if cut < 0 {
		return p, ErrShort
	}
	p.FirstKeptID = items[cut].Entry.Meta().ID
	turn := cut
	for turn >= 0 && !startsTurn(items[turn].Record) {
		turn--
	}
	if turn < 0 {
		turn = cut // the turn began before what there is
	}
	p.History, p.Prefix = records(items[:turn]), records(items[turn:cut])
	if len(p.History)+len(p.Prefix) == 0 {
		return p, ErrShort
	}
	for _, r := range slices.Concat(p.History, p.Prefix) {
		p.Files.addCalls(r)
	}
	return p, nil
}

// cutAt is the first item that stays, or -1.
func cutAt(items []store.Item, keep int64) int {
	places := cuts(items)
	if len(places) == 0 {
		return -1
	}
	kept := int64(0)
	for i := len(items) - 1; i >= 0; i-- {
		kept += Estimate(items[i].Record)
		if kept < keep {
			continue
		}
		if n, _ := slices.BinarySearch(places, i); n < len(places) {
			return places[n]
		}
		return places[len(places)-1] // results alone are too much: their answer stays with them
	}
	return places[0]
}

// cuts are the items before which a conversation may be cut: not a result, and
// nothing between an answer and the last result of its calls.
func cuts(items []store.Item) []int {
	var places []int
	whole := -1 // the last item that belongs to an answer before
	for i, item := range items {
		if llm.ToModel(item.Record) == nil {
			continue
		}
		_, result := item.Record.(*llm.ToolResult)
		if !result && i > whole {
			places = append(places, i)
		}
		if a, ok := item.Record.(*llm.Assistant); ok {
			whole = max(whole, lastResult(items, i, a))
		}
	}
	return places
}

// lastResult is the last item that is a result of an answer, or -1.
func lastResult(items []store.Item, at int, a *llm.Assistant) int {
	last := -1
	calls := a.ToolCalls()
	for i := at + 1; i < len(items); i++ {
		switch m := items[i].Record.(type) {
		case *llm.Assistant:
			return last
		case *llm.ToolResult:
			if slices.ContainsFunc(calls, func(c *llm.ToolCall) bool { return c.ID == m.ToolCallID }) {
				last = i
			}
		case *llm.User, *llm.BashExecution, *llm.Custom, *llm.BranchSummary, *llm.CompactionSummary, *llm.Other:
		}
	}
	return last
}

// startsTurn says whether a message is one that a model answers.
func startsTurn(r llm.Record) bool {
	switch r.(type) {
	case *llm.Assistant, *llm.ToolResult, *llm.Other:
		return false
	case *llm.User, *llm.BashExecution, *llm.Custom, *llm.BranchSummary, *llm.CompactionSummary:
	}
	return true
}

// records are the messages of items that a model sees.
func records(items []store.Item) []llm.Record {
	var list []llm.Record
	for _, i := range items {
		if llm.ToModel(i.Record) != nil {
			list = append(list, i.Record)
		}
	}
	return list
}

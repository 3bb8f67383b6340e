package session

import (
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// Stats are the numbers of a session, over all its branches.
type Stats struct {
	SessionID         string
	Path              string // empty in memory
	UserMessages      int
	AssistantMessages int
	ToolCalls         int
	ToolResults       int
	TotalMessages     int
	Usage             tool.Usage // of answers, tools and summaries
	// ContextWindow is 0 if unknown; ContextTokens are what the next request takes
	// of it, about.
	ContextWindow, ContextTokens int64
}

// Stats counts.
func (s *Session) Stats() Stats {
	log := s.Log()
	stats := Stats{SessionID: log.Header().ID, Path: log.Path(), ContextWindow: s.State().Model.ContextWindow, ContextTokens: contextTokens(log)}
	add := func(u *tool.Usage) { stats.Usage = *sum(&stats.Usage, u) }
	for _, e := range log.Entries() {
		switch b := e.(type) {
		case store.Message:
			stats.TotalMessages++
			switch m := b.Message.(type) {
			case *llm.User:
				stats.UserMessages++
			case *llm.Assistant:
				stats.AssistantMessages++
				stats.ToolCalls += len(m.ToolCalls())
				add(&m.Usage)
			case *llm.ToolResult:
				stats.ToolResults++
				add(m.Usage)
			default: // the others cost nothing
			}
		case store.Compaction:
			add(b.Usage)
		case store.BranchSummary:
			add(b.Usage)
		case store.Usage:
			add(b.Usage)
		default: // the others cost nothing
		}
	}
	return stats
}

// sum adds usages; nil ones count nothing.
func sum(usages ...*tool.Usage) *tool.Usage {
	total := &tool.Usage{}
	for _, u := range usages {
		if u != nil {
			total.Input, total.Output, total.Cost = total.Input+u.Input, total.Output+u.Output, total.Cost+u.Cost
			total.CacheRead, total.CacheWrite = total.CacheRead+u.CacheRead, total.CacheWrite+u.CacheWrite
		}
	}
	return total
}

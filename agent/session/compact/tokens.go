package compact

import (
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// bytesPerToken and imageBytes are on the safe side for the models that there are.
const (
	bytesPerToken = 4
	imageBytes    = 4800
)

// Estimate is about how many tokens a message takes, rather too many. What a model
// does not see takes none.
func Estimate(r llm.Record) int64 {
	bytes := 0
	switch m := llm.ToModel(r).(type) {
	case nil:
	case *llm.User:
		bytes = contentBytes(m.Content)
	case *llm.ToolResult:
		bytes = contentBytes(m.Content)
	case *llm.Assistant:
		for _, b := range m.Content {
			switch b := b.(type) {
			case *llm.Text:
				bytes += len(b.Text)
			case *llm.Thinking:
				bytes += len(b.Text)
			case *llm.ToolCall:
				bytes += len(b.Name) + len(b.Arguments)
			}
		}
	}
	return int64(bytes+bytesPerToken-1) / bytesPerToken
}

func contentBytes(content []tool.Content) int {
	bytes := 0
	for _, c := range content {
		switch c := c.(type) {
		case tool.Text:
			bytes += len(c.Text)
		case tool.Image:
			bytes += imageBytes
		}
	}
	return bytes
}

// Tokens is about how many tokens the context at the end of a way takes: what the
// provider counted for the last answer and an estimate of what came after it. A
// count from before a compaction or an edit is of another context, and is not used.
func Tokens(way []store.Entry, items []store.Item) int64 {
	valid := map[string]bool{} // the entries whose counts are of this context
	for _, e := range way {
		switch e.(type) {
		case store.Compaction, store.ContextEdit:
			clear(valid)
		default:
			valid[e.Meta().ID] = true
		}
	}
	tokens := int64(0)
	for i := len(items) - 1; i >= 0; i-- {
		a, ok := items[i].Record.(*llm.Assistant)
		if ok && valid[items[i].Entry.Meta().ID] && a.StopReason != llm.StopAborted && a.StopReason != llm.StopError {
			if n := a.Usage.Input + a.Usage.Output + a.Usage.CacheRead + a.Usage.CacheWrite; n > 0 {
				return tokens + n
			}
		}
		tokens += Estimate(items[i].Record)
	}
	return tokens
}

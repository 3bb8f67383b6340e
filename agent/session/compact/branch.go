package compact

import (
	"slices"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
)

// Branch is what is left behind when a session goes on at another entry.
type Branch struct {
	// Records are its messages, as far as they fit; results of tools are left out.
	Records []llm.Record
	Files   Files
}

// Left is the branch between the point where two ways part and the end of the one
// that is left. At most limit tokens of its end are taken; 0 takes all. A branch
// without Records needs no summary.
func Left(from, to []store.Entry, items []store.Item, limit int64) Branch {
	shared := map[string]bool{}
	for _, e := range to {
		shared[e.Meta().ID] = true
	}
	b := Branch{Files: newFiles()}
	mine := map[string]bool{}
	for _, e := range from {
		if id := e.Meta().ID; !shared[id] {
			mine[id] = true
		}
		if s, ok := e.(store.BranchSummary); ok && mine[s.ID] && !s.FromHook {
			b.Files.addDetails(s.Details)
		}
	}
	tokens := int64(0)
	full := false
	for _, i := range slices.Backward(items) {
		if !mine[i.Entry.Meta().ID] || llm.ToModel(i.Record) == nil {
			continue
		}
		b.Files.addCalls(i.Record)
		if _, result := i.Record.(*llm.ToolResult); result || full {
			continue
		}
		if tokens += Estimate(i.Record); limit > 0 && tokens > limit {
			full = true
			continue
		}
		b.Records = append(b.Records, i.Record)
	}
	slices.Reverse(b.Records)
	return b
}

// Prompt is what the model is asked for the summary.
func (b Branch) Prompt(instructions string) string {
	return prompt(b.Records, branchTask, instructions)
}

// Summary is the answer with the lists of files.
func (b Branch) Summary(answer string) string { return answer + b.Files.String() }

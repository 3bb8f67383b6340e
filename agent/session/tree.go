package session

import (
	"context"
	"fmt"

	"github.com/piremote/piremote/agent/session/compact"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// MoveOptions says what becomes of the branch that is left.
type MoveOptions struct {
	// Summarize puts notes of that branch where the session goes on, so that what was
	// learned there is not lost. Instructions may add to what the model is asked.
	Summarize    bool
	Instructions string
}

// Move makes an entry the leaf, so that what comes next begins a branch there; an
// empty id is the place before all. It reports whether a hook has prevented it. After
// an error, or an abort while the summary is written, the leaf is where it was.
func (s *Session) Move(ctx context.Context, entryID string, o MoveOptions) (cancelled bool, err error) {
	if err := s.acquire(ctx); err != nil {
		return false, err
	}
	defer s.release()
	log := s.Log()
	moved := Moved{From: log.Leaf(), To: entryID}
	before, err := OnBeforeTree.ask(ctx, s.hooks, BeforeTree{Moved: moved})
	if err != nil || before.Cancel {
		return before.Cancel, err
	}
	if _, known := log.Entry(entryID); entryID != "" && !known {
		return false, fmt.Errorf("%w: %q", store.ErrNoEntry, entryID)
	}
	summary, err := s.left(log, entryID, before, o) //nolint:contextcheck // Abort ends it, as it ends every summary
	if err == nil {
		err = log.MoveTo(entryID)
	}
	if err == nil && summary != nil {
		_, err = log.Append(*summary)
	}
	if err != nil {
		return false, err
	}
	err = s.reload()
	OnTree.tell(ctx, s.hooks, moved)
	return false, err
}

// left is the summary of the branch that is left, or nil if none is wanted or there is
// nothing to tell.
func (s *Session) left(log *store.Log, entryID string, before BeforeTree, o MoveOptions) (*store.BranchSummary, error) {
	if before.Summary != "" {
		return &store.BranchSummary{FromID: entryID, Summary: before.Summary, Details: before.Details, FromHook: true}, nil
	}
	if !o.Summarize {
		return nil, nil //nolint:nilnil // there is none
	}
	now, err := log.Context(log.Leaf())
	if err != nil {
		return nil, err
	}
	var to []store.Entry
	if entryID != "" {
		to = log.Branch(entryID)
	}
	s.mu.Lock()
	window := s.model.Info.ContextWindow
	s.mu.Unlock()
	limit := int64(0) // none, where nothing is known of the model
	if window > 0 {
		limit = max(window-orElse(s.options.Compaction.Reserve, compact.Reserve), window/2)
	}
	branch := compact.Left(log.Branch(log.Leaf()), to, now.Items, limit)
	if len(branch.Records) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	ctx, cancel := s.interruptible()
	defer cancel()
	answer, err := s.summarize(ctx, LeftBranch, branch.Prompt(o.Instructions))
	if err != nil {
		return nil, fmt.Errorf("the branch was not left, its summary failed: %w", err)
	}
	usage := answer.Usage
	summary := &store.BranchSummary{FromID: entryID, Summary: branch.Summary(answer.Text()), Details: branch.Files.Details()}
	if usage != (tool.Usage{}) {
		summary.Usage = &usage
	}
	return summary, nil
}

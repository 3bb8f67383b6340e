package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/compact"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// CompactionOptions says when and how much is compacted.
type CompactionOptions struct {
	Off bool // never by itself
	// Reserve are the tokens of the model's window that are kept free; 0 means
	// compact.Reserve.
	Reserve int64
	// KeepRecent are about the tokens at the end that stay as they are; 0 means
	// compact.KeepRecent.
	KeepRecent int64
}

// CompactionReason is why the conversation is compacted.
type CompactionReason string

// The reasons.
const (
	Manual    CompactionReason = "manual"
	Threshold CompactionReason = "threshold" // the window is nearly full
	Overflow  CompactionReason = "overflow"  // a request was too long
	// LeftBranch is the reason of a summary that no compaction asks for.
	LeftBranch CompactionReason = "branch_summary"
)

// CompactionResult is what a compaction did.
type CompactionResult struct {
	Summary              string          `json:"summary"`
	FirstKeptEntryID     string          `json:"firstKeptEntryId"`
	TokensBefore         int64           `json:"tokensBefore"`
	EstimatedTokensAfter int64           `json:"estimatedTokensAfter"`
	Usage                *tool.Usage     `json:"usage,omitempty"`
	Details              json.RawMessage `json:"details,omitempty"`
}

// errCompactionCancelled is the error of a compaction that a hook stopped.
var errCompactionCancelled = errors.New("a hook has cancelled the compaction")

// Compact replaces the older part of the conversation by a summary that the model
// writes. What goes on is aborted first. instructions may be empty.
func (s *Session) Compact(ctx context.Context, instructions string) (CompactionResult, error) {
	if err := s.acquire(ctx); err != nil {
		return CompactionResult{}, err
	}
	defer s.release()
	s.emit(CompactionStart{Manual})
	plan, err := s.compaction()
	if err != nil {
		s.compactionFailed(CompactionEnd{Reason: Manual, ErrorMessage: err.Error()}, false)
		return CompactionResult{}, err
	}
	return s.compact(Manual, plan, instructions, false) //nolint:contextcheck // Abort ends it, as it ends every compaction
}

// compactItself compacts within a run, and reports whether it did. Where nothing
// can be taken out it says nothing.
func (s *Session) compactItself(reason CompactionReason, willRetry bool) bool {
	plan, err := s.compaction()
	if err != nil {
		return false
	}
	s.emit(CompactionStart{reason})
	_, err = s.compact(reason, plan, "", willRetry)
	return err == nil
}

// compact makes the summary, puts it into the log and gives the agent what is
// left. compaction_start was told; the end is told here in every case, then the
// hooks are.
func (s *Session) compact(reason CompactionReason, plan compact.Plan, instructions string, willRetry bool) (CompactionResult, error) {
	s.mu.Lock()
	s.compacting = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.compacting = false
	}()
	ctx, cancel := s.interruptible()
	defer cancel()
	before, fromHook, usage, err := s.summary(ctx, plan, BeforeCompact{
		Reason: reason, Messages: slices.Concat(plan.History, plan.Prefix), FirstKeptEntryID: plan.FirstKeptID,
		TokensBefore: plan.Tokens, Instructions: instructions,
	})
	if err != nil {
		end := CompactionEnd{Reason: reason, Aborted: ctx.Err() != nil || errors.Is(err, errCompactionCancelled)}
		if !end.Aborted {
			end.ErrorMessage = err.Error()
		}
		s.compactionFailed(end, fromHook)
		return CompactionResult{}, fmt.Errorf("the conversation was not compacted: %w", err)
	}
	log := s.Log()
	entry, err := log.Append(store.Compaction{
		Summary: before.Summary, FirstKeptID: before.FirstKeptEntryID, TokensBefore: before.TokensBefore, Details: before.Details,
		FromHook: fromHook, Usage: usage,
	})
	if err == nil {
		err = s.reload()
	}
	kept, ok := entry.(store.Compaction)
	if err != nil || !ok {
		s.compactionFailed(CompactionEnd{Reason: reason, ErrorMessage: fmt.Sprint(err)}, fromHook)
		return CompactionResult{}, fmt.Errorf("the conversation was not compacted: %w", err)
	}
	result := CompactionResult{kept.Summary, kept.FirstKeptID, kept.TokensBefore, estimate(s.agent.State().Messages), usage, kept.Details}
	s.emit(CompactionEnd{Reason: reason, Result: &result, WillRetry: willRetry})
	OnCompact.tell(s.life, s.hooks, Compacted{reason, kept, fromHook})
	return result, nil
}

// summary asks the hooks, and unless one has given it the model, for the summary.
func (s *Session) summary(ctx context.Context, plan compact.Plan, b BeforeCompact) (_ BeforeCompact, fromHook bool, usage *tool.Usage, err error) {
	if b, err = OnBeforeCompact.ask(ctx, s.hooks, b); err != nil {
		return b, false, nil, err
	}
	switch {
	case b.Cancel:
		return b, false, nil, errCompactionCancelled
	case b.Summary != "":
		return b, true, nil, nil
	}
	history, err := s.summarize(ctx, b.Reason, plan.HistoryPrompt(b.Instructions))
	if err != nil {
		return b, false, nil, err
	}
	prefix, err := s.summarize(ctx, b.Reason, plan.PrefixPrompt(b.Instructions))
	if err != nil {
		return b, false, nil, err
	}
	b.Summary, b.Details = plan.Summary(history.Text(), prefix.Text()), plan.Files.Details()
	return b, false, sum(&history.Usage, &prefix.Usage), nil
}

// compactionFailed tells the end of a compaction that failed, then its hooks.
func (s *Session) compactionFailed(e CompactionEnd, fromHook bool) {
	s.emit(e)
	OnCompactFailed.tell(s.life, s.hooks, CompactFailed{e.Reason, e.ErrorMessage, e.Aborted, fromHook})
}

// SetAutoCompaction says whether the session compacts by itself.
func (s *Session) SetAutoCompaction(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.autoCompact = on
}

// nearlyFull reports whether the next request may not fit the model's window.
func (s *Session) nearlyFull() bool {
	s.mu.Lock()
	window, on, log := s.model.Info.ContextWindow, s.autoCompact && !s.aborting, s.log
	s.mu.Unlock()
	return on && window > 0 && contextTokens(log) > window-orElse(s.options.Compaction.Reserve, compact.Reserve)
}

func orElse(n, otherwise int64) int64 {
	if n > 0 {
		return n
	}
	return otherwise
}

// compaction plans the compaction of the present context.
func (s *Session) compaction() (compact.Plan, error) {
	log := s.Log()
	c, err := log.Context(log.Leaf())
	if err != nil {
		return compact.Plan{}, err
	}
	return compact.Make(log.Branch(log.Leaf()), c.Items, orElse(s.options.Compaction.KeepRecent, compact.KeepRecent))
}

// contextTokens is about how many tokens the context takes.
func contextTokens(log *store.Log) int64 {
	c, err := log.Context(log.Leaf())
	if err != nil {
		return 0
	}
	return compact.Tokens(log.Branch(log.Leaf()), c.Items)
}

// estimate is about how many tokens messages take.
func estimate(messages []llm.Message) int64 {
	tokens := int64(0)
	for _, m := range messages {
		tokens += compact.Estimate(m)
	}
	return tokens
}

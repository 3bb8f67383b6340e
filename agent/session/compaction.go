package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// CompactionOptions says when and how much is compacted.
type CompactionOptions struct {
	Off bool // never by itself
	// Reserve are the tokens of the model's window that are kept free; 0 means 16384.
	Reserve int64
	// KeepRecent are about the tokens at the end that stay as they are; 0 means 20000.
	KeepRecent int64
}

// CompactionReason is why the conversation is compacted.
type CompactionReason string

// The reasons.
const (
	Manual    CompactionReason = "manual"
	Threshold CompactionReason = "threshold" // the window is nearly full
	Overflow  CompactionReason = "overflow"  // a request was too long
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

// errShort is returned where compaction would take nothing out.
var errShort = errors.New("there is nothing to compact: the conversation is short")

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
	cut, err := s.cut()
	if err != nil {
		s.compactionFailed(CompactionEnd{Reason: Manual, ErrorMessage: err.Error()}, false)
		return CompactionResult{}, err
	}
	return s.compact(Manual, cut, instructions, false) //nolint:contextcheck // Abort ends it, as it ends every compaction
}

// compactItself compacts within a run, and reports whether it did. Where nothing
// can be taken out it says nothing.
func (s *Session) compactItself(reason CompactionReason, willRetry bool) bool {
	cut, err := s.cut()
	if err != nil {
		return false
	}
	s.emit(CompactionStart{reason})
	_, err = s.compact(reason, cut, "", willRetry)
	return err == nil
}

// compact makes the summary, puts it into the log and gives the agent what is
// left. compaction_start was told; the end is told here in every case, then the
// hooks are.
func (s *Session) compact(reason CompactionReason, cut cut, instructions string, willRetry bool) (CompactionResult, error) {
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
	before, fromHook, usage, err := s.summary(ctx, BeforeCompact{
		Reason: reason, Messages: cut.replaced, FirstKeptEntryID: cut.firstKept, TokensBefore: cut.tokens, Instructions: instructions,
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
func (s *Session) summary(ctx context.Context, b BeforeCompact) (_ BeforeCompact, fromHook bool, usage *tool.Usage, err error) {
	if b, err = OnBeforeCompact.ask(ctx, s.hooks, b); err != nil {
		return b, false, nil, err
	}
	switch {
	case b.Cancel:
		return b, false, nil, errCompactionCancelled
	case b.Summary != "":
		return b, true, nil, nil
	}
	answer, err := s.summarize(ctx, b.Reason, b.Messages, b.Instructions)
	if err != nil {
		return b, false, nil, err
	}
	b.Summary = answer.Text()
	return b, false, &answer.Usage, nil
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
	return on && window > 0 && contextTokens(log) > window-orElse(s.options.Compaction.Reserve, 16384)
}

func orElse(n, otherwise int64) int64 {
	if n > 0 {
		return n
	}
	return otherwise
}

// cut is where a conversation is cut.
type cut struct {
	replaced  []llm.Message // by the summary
	firstKept string        // entry id
	tokens    int64         // of the context before
}

// cut says what a compaction would replace. It never parts a call from its result.
func (s *Session) cut() (cut, error) {
	log := s.Log()
	c, err := log.Context(log.Leaf())
	if err != nil {
		return cut{}, err
	}
	keep := orElse(s.options.Compaction.KeepRecent, 20000)
	first, kept := -1, int64(0)
	for i := len(c.Items) - 1; i > 0; i-- {
		m := llm.ToModel(c.Items[i].Record)
		if m == nil {
			continue
		}
		kept += estimate([]llm.Message{m})
		if _, result := m.(*llm.ToolResult); result {
			continue
		}
		if first = i; kept >= keep {
			break
		}
	}
	if first <= 0 || kept < keep {
		return cut{}, errShort
	}
	k := cut{firstKept: c.Items[first].Entry.Meta().ID, tokens: contextTokens(log)}
	for _, i := range c.Items[:first] {
		if m := llm.ToModel(i.Record); m != nil {
			k.replaced = append(k.replaced, m)
		}
	}
	if len(k.replaced) == 0 {
		return cut{}, errShort
	}
	return k, nil
}

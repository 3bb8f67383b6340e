package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
)

// plan is what follows a run of the loop that failed.
type plan int

const (
	planNothing   plan = iota
	planRetry          // wait, and ask again
	planCompact        // compact, and ask again
	planExhausted      // an overflow that compaction has not mended
	planOmit           // the same as planCompact, without the answer that was cut short
	planCutAgain       // an answer that was cut short after that too
)

// plan decides what follows a run, whose messages are those, and reports whether
// that is a new attempt. It is asked before agent_end is told.
func (s *Session) plan(messages []llm.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.planned = planNothing
	if len(messages) == 0 || s.aborting || s.closed {
		return false
	}
	a, ok := last(messages)
	if ok && s.cutShort(a) {
		switch {
		case s.overflowed:
			s.planned = planCutAgain
		case s.autoCompact:
			s.planned = planOmit
		}
		return s.planned == planOmit
	}
	var failure *llm.Error
	if !ok || a.StopReason != llm.StopError || !errors.As(s.failure, &failure) {
		return false
	}
	retry := s.retry()
	switch {
	case failure.Kind == llm.ErrOverflow && s.overflowed:
		s.planned = planExhausted
	case failure.Kind == llm.ErrOverflow && s.autoCompact:
		s.planned = planCompact
	case failure.Retryable() && s.autoRetry && s.attempt < retry.Attempts && failure.RetryAfter <= retry.MaxDelay:
		s.planned = planRetry
	}
	return s.planned == planRetry || s.planned == planCompact
}

// cutShort reports whether an answer was cut before the model had written what it may:
// the context left no room for more. s.mu is held.
func (s *Session) cutShort(a *llm.Assistant) bool {
	most := s.model.Info.MaxTokens
	return a.StopReason == llm.StopLength && most > 0 && a.Usage.Output < most && len(a.ToolCalls()) == 0
}

// omit takes the last answer out of the context; the log keeps it.
func (s *Session) omit() error {
	log := s.Log()
	for _, e := range slices.Backward(log.Branch(log.Leaf())) {
		if m, ok := e.(store.Message); ok {
			if _, answer := m.Message.(*llm.Assistant); !answer {
				return nil
			}
			return s.put(store.ContextEdit{TargetID: m.ID, Replacement: json.RawMessage("null")})
		}
	}
	return nil
}

// last is the last answer of messages.
func last(messages []llm.Message) (*llm.Assistant, bool) {
	for _, m := range slices.Backward(messages) {
		if a, ok := m.(*llm.Assistant); ok {
			return a, true
		}
	}
	return nil, false
}

// retry is how often and how fast is asked again, with defaults filled in.
func (s *Session) retry() agent.Retry {
	r := s.options.Retry
	r.Attempts = max(r.Attempts, 0) // a negative number only says how the session begins
	return r.WithDefaults()
}

// mend does what was planned for a run that has ended, and reports whether the
// agent is to go on.
func (s *Session) mend(summary agent.Summary) bool {
	s.mu.Lock()
	planned, failure := s.planned, s.failure
	s.mu.Unlock()
	switch planned {
	case planRetry:
		return s.waitForAttempt(failure)
	case planCompact:
		s.mu.Lock()
		s.overflowed = true
		s.mu.Unlock()
		return s.compactItself(Overflow, true)
	case planOmit:
		s.mu.Lock()
		s.overflowed = true
		s.mu.Unlock()
		if _, err := s.compaction(); err != nil {
			return false // there is nothing to take out
		}
		if err := s.omit(); err != nil {
			s.hooks.report("session", err)
			return false
		}
		return s.compactItself(Overflow, true)
	case planCutAgain:
		s.compactionFailed(CompactionEnd{Reason: Overflow, ErrorMessage: "Truncated response recovery failed after one compact-and-retry attempt."}, false)
	case planExhausted:
		s.compactionFailed(CompactionEnd{
			Reason:       Overflow,
			ErrorMessage: "Context overflow recovery failed after one compact-and-retry attempt. Try reducing context or switching to a larger-context model.",
		}, false)
	case planNothing:
		if summary.Reason == agent.StopError {
			s.retried(false, fmt.Sprint(summary.Err))
		} else if s.nearlyFull() {
			s.compactItself(Threshold, false)
		}
	}
	return false
}

// waitForAttempt waits before a new attempt, and takes the failed answer out of
// the agent's conversation.
func (s *Session) waitForAttempt(failure error) bool {
	retry := s.retry()
	s.mu.Lock()
	s.attempt++
	attempt := s.attempt
	s.mu.Unlock()
	var provider *llm.Error
	if !errors.As(failure, &provider) {
		provider = &llm.Error{}
	}
	delay := retry.Backoff(attempt-1, provider)
	ctx, cancel := s.interruptible()
	defer cancel()
	s.setWaiting(true)
	s.emit(AutoRetryStart{attempt, retry.Attempts, delay, failure.Error()})
	waited := agent.Wait(ctx, delay)
	s.setWaiting(false)
	if !waited {
		s.retried(false, "aborted")
		return false
	}
	if err := s.reload(); err != nil {
		s.retried(false, err.Error())
		return false
	}
	return true
}

// retried tells how attempts ended, if there were any.
func (s *Session) retried(success bool, failure string) {
	s.mu.Lock()
	attempt := s.attempt
	s.attempt = 0
	s.mu.Unlock()
	if attempt > 0 {
		s.emit(AutoRetryEnd{success, attempt, failure})
	}
}

// SetAutoRetry says whether answers that failed are asked for again.
func (s *Session) SetAutoRetry(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.autoRetry = on
}

// AbortRetry ends the wait for a new attempt, and the run with it.
func (s *Session) AbortRetry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting && s.stop != nil {
		s.stop()
	}
}

func (s *Session) setWaiting(waiting bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = waiting
}

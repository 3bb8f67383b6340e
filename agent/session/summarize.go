package session

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/compact"
)

// summarize asks the model for a summary, and again after failures that may pass.
// The answer to an empty prompt is empty.
func (s *Session) summarize(ctx context.Context, reason CompactionReason, prompt string) (*llm.Assistant, error) {
	if prompt == "" {
		return &llm.Assistant{}, nil
	}
	s.mu.Lock()
	model := s.model
	s.mu.Unlock()
	request := llm.Request{System: compact.System, Messages: []llm.Message{llm.UserText(prompt, s.options.Now().UnixMilli())}}
	retry := s.retry()
	for attempt := 0; ; attempt++ {
		if attempt > 0 {
			s.emit(SummarizationRetryAttemptStart{reason})
		}
		answer, err := askOnce(ctx, model.Provider, request)
		var failure *llm.Error
		again := err != nil && ctx.Err() == nil && errors.As(err, &failure) && failure.Retryable() && attempt < retry.Attempts
		if !again {
			if attempt > 0 {
				s.emit(SummarizationRetryFinished{})
			}
			return answer, err
		}
		delay := max(min(retry.Delay<<min(attempt, 16), retry.MaxDelay), min(failure.RetryAfter, retry.MaxDelay))
		s.emit(SummarizationRetryScheduled{attempt + 1, retry.Attempts, delay.Round(time.Millisecond), err.Error()})
		if !agent.Wait(ctx, delay) {
			s.emit(SummarizationRetryFinished{})
			return nil, context.Cause(ctx)
		}
	}
}

func askOnce(ctx context.Context, p llm.Provider, request llm.Request) (answer *llm.Assistant, err error) {
	err = contain("the provider", func() (err error) {
		answer, err = p.Stream(ctx, request, func(llm.StreamEvent) {})
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case answer == nil || strings.TrimSpace(answer.Text()) == "":
		return nil, errors.New("the model wrote no summary")
	case answer.StopReason == llm.StopLength:
		return nil, errors.New("the summary was cut at the output limit")
	}
	return answer, nil
}

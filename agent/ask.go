package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// ask gets one answer from the model, telling it as it streams. A failure of
// the provider is an answer with the stop reason error or aborted.
func (r *run) ask() (*llm.Assistant, error) {
	messages := r.State().Messages
	if t := r.options.TransformContext; t != nil {
		var err error
		if messages, err = t(r.ctx, slices.Clone(messages)); err != nil {
			return nil, fmt.Errorf("context transformation: %w", err)
		}
	}
	req := llm.Request{System: r.options.System, Messages: messages, Thinking: r.options.Thinking, SessionID: r.options.SessionID}
	for _, t := range r.options.Tools() {
		req.Tools = append(req.Tools, t.Info().Declaration)
	}

	started := false
	var listenerErr error
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	emit := func(e Event) {
		if listenerErr == nil {
			if listenerErr = r.emit(r.ctx, e); listenerErr != nil {
				cancel(listenerErr)
			}
		}
	}
	answer, err := r.stream(ctx, req, func(e llm.StreamEvent) {
		if e.Kind == llm.StreamStart {
			started = true
			emit(MessageStart{e.Partial})
			return
		}
		emit(MessageUpdate{Message: e.Partial, Stream: e})
	})
	if listenerErr != nil {
		return nil, listenerErr
	}
	if err != nil || answer == nil {
		answer = r.failed(answer, err)
		r.summary.Err = err
	}
	if !started {
		if err := r.emit(r.ctx, MessageStart{answer}); err != nil {
			return nil, err
		}
	}
	return answer, r.emit(r.ctx, MessageEnd{answer})
}

// stream calls the provider; a panic there is a failure like any other.
func (r *run) stream(ctx context.Context, req llm.Request, emit func(llm.StreamEvent)) (answer *llm.Assistant, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	defer func() {
		if p := recover(); p != nil {
			answer, err = nil, fmt.Errorf("the provider panicked: %v", p)
		}
	}()
	return r.options.Provider.Stream(ctx, req, emit)
}

// failed is the answer that stands for a failure, with what had come of it.
func (r *run) failed(partial *llm.Assistant, err error) *llm.Assistant {
	m := &llm.Assistant{Timestamp: r.options.Now().UnixMilli()}
	if partial != nil {
		*m = *partial
	}
	m.StopReason, m.ErrorMessage = llm.StopError, "the provider gave no answer"
	if err != nil {
		m.ErrorMessage = err.Error()
	}
	if r.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		m.StopReason = llm.StopAborted
	}
	return m
}

func plus(a, b tool.Usage) tool.Usage {
	return tool.Usage{
		Input: a.Input + b.Input, Output: a.Output + b.Output, CacheRead: a.CacheRead + b.CacheRead,
		CacheWrite: a.CacheWrite + b.CacheWrite, Cost: a.Cost + b.Cost,
	}
}

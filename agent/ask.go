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
// the provider is an answer with the stop reason error or aborted, and is
// returned beside it as cause. err is the failure of a hook or a listener; an
// answer beside it is part of the conversation already.
func (r *run) ask() (answer *llm.Assistant, cause, err error) {
	req, err := r.request()
	if err != nil {
		return nil, nil, err
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
	answer, cause = r.stream(ctx, req, func(e llm.StreamEvent) {
		if e.Kind == llm.StreamStart {
			started = true
			emit(MessageStart{e.Partial})
			return
		}
		emit(MessageUpdate{Message: e.Partial, Stream: e})
	})
	if listenerErr != nil {
		return nil, nil, listenerErr
	}
	if cause == nil && answer == nil {
		cause = errors.New("the provider gave no answer")
	}
	if cause != nil {
		answer = r.failed(answer, cause)
	}
	if !started {
		if err := r.emit(r.ctx, MessageStart{answer}); err != nil {
			return nil, nil, err
		}
	}
	return answer, cause, r.emit(r.ctx, MessageEnd{answer})
}

// request is what the model is asked next.
func (r *run) request() (llm.Request, error) {
	messages := r.view()
	req := llm.Request{System: r.options.System, Thinking: r.options.Thinking, SessionID: r.options.SessionID}
	err := contain("TransformContext", func() (err error) {
		if r.options.TransformContext != nil {
			messages, err = r.options.TransformContext(r.ctx, slices.Clone(messages))
		}
		return err
	})
	if err != nil {
		return req, err
	}
	err = contain("ConvertToLLM", func() (err error) {
		if r.options.ConvertToLLM != nil {
			messages, err = r.options.ConvertToLLM(r.ctx, slices.Clone(messages))
		}
		return err
	})
	req.Messages = messages
	return req, errors.Join(err, contain("list of tools", func() error {
		for _, t := range r.options.Tools() {
			req.Tools = append(req.Tools, t.Info().Declaration)
		}
		return nil
	}))
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
	m.StopReason, m.ErrorMessage = llm.StopError, err.Error()
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

package agent

import (
	"context"
	"errors"
	"time"

	"github.com/piremote/piremote/agent/llm"
)

// run is one pass of the loop with what it collects.
type run struct {
	*Agent
	ctx     context.Context //nolint:containedctx // the run is the context's lifetime
	start   int             // number of messages before the run
	summary Summary
	limiter limiter
	inTurn  bool
}

func (a *Agent) run(ctx context.Context, messages []llm.Message) (Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := make(chan struct{})
	a.mu.Lock()
	if a.cancel != nil {
		a.mu.Unlock()
		return Summary{}, ErrBusy
	}
	a.cancel, a.idle = cancel, idle
	r := &run{Agent: a, ctx: ctx, start: len(a.messages), summary: Summary{ToolCalls: map[string]int{}}}
	a.mu.Unlock()
	if limit := a.options.Limits.Time; limit > 0 {
		timer := time.AfterFunc(limit, func() { cancel(errTime) })
		defer timer.Stop()
	}
	r.limiter = limiter{limits: a.options.Limits}

	err := r.loop(messages) //nolint:contextcheck // a lifetime of its own, not that of the call
	if err != nil {
		err = r.tellFailure(err)
	}
	if err == nil {
		err = a.emit(ctx, AgentEnd{Messages: a.State().Messages[r.start:]})
	}
	a.mu.Lock()
	a.cancel, a.streaming, a.pending = nil, nil, nil
	a.mu.Unlock()
	close(idle)
	return r.summary, err
}

// tellFailure makes a run that a listener or a hook broke end like any other:
// with an answer that carries the failure. What tools did is in the
// conversation already.
func (r *run) tellFailure(cause error) error {
	r.summary.Reason, r.summary.Err = StopError, cause
	m := r.failed(nil, cause)
	r.mu.Lock()
	streaming := r.streaming != nil
	r.streaming = nil
	r.mu.Unlock()
	var events []Event
	if !r.inTurn {
		events = append(events, TurnStart{})
	}
	if !streaming {
		events = append(events, MessageStart{m})
	}
	for _, e := range append(events, MessageEnd{m}, TurnEnd{Message: m}) {
		if err := r.emit(r.ctx, e); err != nil {
			return errors.Join(cause, err)
		}
	}
	return nil
}

// loop runs turns until one of them, or a limit, ends the run.
func (r *run) loop(messages []llm.Message) error {
	if err := r.emit(r.ctx, AgentStart{}); err != nil {
		return err
	}
	for first := true; ; first = false {
		if !first && r.options.PrepareNextTurn != nil {
			if err := r.options.PrepareNextTurn(r.ctx); err != nil {
				return err
			}
		}
		messages = append(messages, r.take(&r.steering, r.options.SteerAll)...)
		more, err := r.turn(messages)
		messages = nil
		if err != nil {
			return err
		}
		if more {
			continue
		}
		if r.summary.Reason != StopDone || r.ctx.Err() != nil {
			return nil //nolint:nilerr // the run ended by its own reason
		}
		// The model is done: steering that came meanwhile, then follow-ups, go on.
		messages = r.take(&r.steering, r.options.SteerAll)
		if len(messages) == 0 {
			messages = r.take(&r.followUps, r.options.FollowUpAll)
		}
		if len(messages) == 0 {
			return nil
		}
	}
}

// turn asks the model once and runs the tools that it asks for. It reports
// whether the model must be asked again.
func (r *run) turn(messages []llm.Message) (more bool, err error) {
	r.inTurn = true
	if err := r.emit(r.ctx, TurnStart{}); err != nil {
		return false, err
	}
	for _, m := range messages {
		if err := r.message(m); err != nil {
			return false, err
		}
	}
	answer, err := r.ask()
	if err != nil {
		return false, err
	}
	r.summary.Turns++
	r.summary.Usage = plus(r.summary.Usage, answer.Usage)

	var results []*llm.ToolResult
	calls := answer.ToolCalls()
	terminate := false
	if len(calls) > 0 && answer.StopReason != llm.StopError && answer.StopReason != llm.StopAborted {
		if results, terminate, err = r.batch(answer, calls); err != nil {
			return false, err
		}
	} else if len(calls) > 0 {
		if results, err = r.unexecuted(calls, "not executed: the answer did not end"); err != nil {
			return false, err
		}
	}
	end := TurnEnd{Message: answer, ToolResults: results}
	if err := r.emit(r.ctx, end); err != nil {
		return false, err
	}
	r.inTurn = false
	return r.decide(answer, end, len(calls) > 0, terminate), nil
}

// decide sets the reason for which the run ends, or reports that it goes on.
func (r *run) decide(answer *llm.Assistant, end TurnEnd, called, terminate bool) (more bool) {
	reason := StopDone
	limit := r.limiter.reached(r.summary, answer)
	switch {
	case errors.Is(context.Cause(r.ctx), errTime):
		reason = StopTime
	case answer.StopReason == llm.StopAborted || r.ctx.Err() != nil:
		reason = StopAborted
	case answer.StopReason == llm.StopError:
		reason = StopError
	case terminate:
		reason = StopTerminated
	case r.options.ShouldStopAfterTurn != nil && r.options.ShouldStopAfterTurn(end):
		reason = StopRequested
	case called && limit != "":
		reason = limit
	case called:
		return true
	case answer.StopReason == llm.StopLength:
		reason = StopLength
	}
	r.summary.Reason = reason
	return false
}

// message adds a message that is already whole.
func (r *run) message(m llm.Message) error {
	if err := r.emit(r.ctx, MessageStart{m}); err != nil {
		return err
	}
	return r.emit(r.ctx, MessageEnd{m})
}

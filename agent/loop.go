package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	retries int  // failed answers in a row
	inTurn  bool // a turn was opened and not closed
}

func (a *Agent) run(ctx context.Context, messages []llm.Message, earlier Summary) (Summary, error) {
	began := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := make(chan struct{})
	a.mu.Lock()
	if a.cancel != nil {
		a.mu.Unlock()
		return Summary{}, ErrBusy
	}
	a.cancel, a.idle = cancel, idle
	r := &run{Agent: a, ctx: ctx, start: len(a.messages), summary: earlier}
	r.summary.Reason, r.summary.Err, r.summary.ToolCalls = "", nil, map[string]int{}
	maps.Copy(r.summary.ToolCalls, earlier.ToolCalls)
	a.mu.Unlock()
	if limit := a.options.Limits.Time; limit > 0 {
		timer := time.AfterFunc(max(0, limit-earlier.Elapsed), func() { cancel(errTime) })
		defer timer.Stop()
	}
	r.limiter = limiter{limits: a.options.Limits}
	defer a.watch(cancel)()

	err := r.loop(messages) //nolint:contextcheck // the run carries its context
	if err != nil {
		err = r.tellFailure(err)
	}
	// The last event comes in every case.
	err = errors.Join(err, a.emit(ctx, AgentEnd{Messages: a.view()[r.start:], Reason: r.summary.Reason}))
	var stuck *StuckListenerError
	if errors.As(context.Cause(ctx), &stuck) && !errors.As(r.summary.Err, &stuck) {
		err = errors.Join(err, stuck) // at the very end
	}
	a.mu.Lock()
	a.cancel, a.streaming, a.pending = nil, nil, nil
	a.mu.Unlock()
	r.summary.Elapsed += time.Since(began)
	close(idle)
	return r.summary, err
}

// tellFailure makes a run that a listener or a hook broke end like any other:
// with an answer that carries the failure. What tools did is in the
// conversation already. Its error is that of a listener that fails here too.
func (r *run) tellFailure(cause error) error {
	r.summary.Reason, r.summary.Err = StopError, cause
	if r.ctx.Err() != nil && (errors.Is(cause, r.ctx.Err()) || errors.Is(cause, context.Cause(r.ctx))) {
		r.summary.Reason = r.ended() // whoever failed did so because the run was over
	}
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
	var failure error
	for _, e := range append(events, MessageEnd{m}, TurnEnd{Message: m}) {
		failure = errors.Join(failure, r.emit(r.ctx, e))
	}
	if failure != nil {
		return errors.Join(cause, failure)
	}
	return nil
}

// loop runs turns until one of them, or a limit, ends the run.
func (r *run) loop(messages []llm.Message) error {
	if err := r.emit(r.ctx, AgentStart{}); err != nil {
		return err
	}
	queue := r.queued(steering)
	if len(messages) == 0 && queue.empty() && r.answered() {
		queue = r.queued(followUps) // Continue, behind an answer
	}
	for {
		// What was prompted comes first, then what was queued.
		more, err := r.turn(messages, queue)
		if err != nil {
			return err
		}
		messages = nil
		switch {
		case more:
			queue = r.queued(steering)
		case r.summary.Reason != StopDone:
			return nil
		default:
			// The model is done: steering that came meanwhile, then follow-ups, go on.
			if queue = r.queued(steering); queue.empty() {
				queue = r.queued(followUps)
			}
			if queue.empty() {
				return nil
			}
		}
		if prepare := r.options.PrepareNextTurn; prepare != nil {
			if err := contain("PrepareNextTurn", func() error { return prepare(r.ctx) }); err != nil {
				return err
			}
		}
	}
}

// answered reports whether nothing in the conversation waits for an answer.
func (a *Agent) answered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.messages) == 0 {
		return true
	}
	_, ok := a.messages[len(a.messages)-1].(*llm.Assistant)
	return ok
}

// turn asks the model once and runs the tools that it asks for. It reports
// whether the model must be asked again.
func (r *run) turn(messages []llm.Message, q delivery) (more bool, err error) {
	r.inTurn = true // also if a listener fails: one of them may have heard it
	if err := r.emit(r.ctx, TurnStart{}); err != nil {
		return false, err
	}
	for _, m := range messages {
		if err := r.message(m); err != nil {
			return false, err
		}
	}
	if err := r.deliver(q); err != nil {
		return false, err
	}
	before, fails := len(r.view()), r.summary.ToolFails
	answer, cause, err := r.ask()
	if answer == nil {
		return false, err
	}
	results, terminate, err := r.act(answer, err)
	var added []string
	for _, m := range results {
		added = append(added, m.AddedToolNames...)
	}
	if err := errors.Join(err, r.activate(added)); err != nil {
		return false, err
	}
	end := TurnEnd{Message: answer, ToolResults: results}
	if err := r.emit(r.ctx, end); err != nil {
		return false, err
	}
	r.inTurn = false
	if cause != nil {
		if r.retry(&cause, before) {
			r.summary.ToolFails = fails
			return true, nil
		}
		r.summary.Err = cause
	}
	r.retries = 0
	r.summary.Turns++
	r.summary.Usage = plus(r.summary.Usage, answer.Usage)
	return r.decide(answer, end, len(results) > 0, terminate)
}

// act gives each call of an answer its result, by running it or by saying why it
// did not run. failure is that of a listener of the answer's end: nothing runs
// then.
func (r *run) act(answer *llm.Assistant, failure error) (results []*llm.ToolResult, terminate bool, err error) {
	calls := answer.ToolCalls()
	switch {
	case len(calls) == 0:
		return nil, false, failure
	case answer.StopReason == llm.StopAborted || failure != nil:
		results, err = r.unexecuted(calls, errNotExecuted)
	case answer.StopReason == llm.StopError:
		results, err = r.unexecuted(calls, errUnfinished)
	default:
		results, terminate, err = r.batch(answer, calls)
	}
	return results, terminate, errors.Join(failure, err)
}

// decide sets the reason for which the run ends, or reports that it goes on.
func (r *run) decide(answer *llm.Assistant, end TurnEnd, called, terminate bool) (more bool, err error) {
	limit := r.limiter.reached(r.summary, answer)
	reason := StopDone
	switch {
	case r.ctx.Err() != nil: // ended, below
	case answer.StopReason == llm.StopAborted:
		reason = StopAborted
	case answer.StopReason == llm.StopError:
		reason = StopError
	case terminate:
		reason = StopTerminated
	case r.requested(end, &err):
		reason = StopRequested
	case called && limit != "":
		reason = limit
	case called:
		return true, nil
	case answer.StopReason == llm.StopLength:
		reason = StopLength
	}
	if r.ctx.Err() != nil {
		reason = r.ended() // also in the hook just now
	}
	r.summary.Reason = reason
	return false, err
}

// ended is why the context of the run has ended.
func (r *run) ended() StopReason {
	var stuck *StuckListenerError
	switch cause := context.Cause(r.ctx); {
	case errors.Is(cause, errTime):
		return StopTime
	case errors.As(cause, &stuck):
		r.summary.Err = stuck
		return StopError
	}
	return StopAborted
}

// requested asks ShouldStopAfterTurn. A hook that panics ends the run too, with
// an error.
func (r *run) requested(end TurnEnd, failure *error) (stop bool) {
	ask := r.options.ShouldStopAfterTurn
	if ask == nil {
		return false
	}
	*failure = contain("ShouldStopAfterTurn", func() error {
		stop = ask(end)
		return nil
	})
	return stop || *failure != nil
}

// message adds a message that is already whole.
func (r *run) message(m llm.Message) error {
	// It is part of the conversation even if a listener of its start fails.
	start := r.emit(r.ctx, MessageStart{m})
	return errors.Join(start, r.emit(r.ctx, MessageEnd{m}))
}

// contain turns a panic of a hook into an error that names it.
func contain(what string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v", what, p)
		}
	}()
	if err := fn(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

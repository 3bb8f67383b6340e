package agent

import (
	"encoding/json"
	"errors"
	"sync"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// errNotExecuted is the result of calls that the end of the run kept from
// starting.
var errNotExecuted = errors.New("not executed: aborted")

// errUnfinished is the result of the calls of an answer that broke off.
var errUnfinished = errors.New("not executed: the answer did not end")

// errCut is the result of the calls of an answer that was cut: their arguments
// may be cut too (hazard PROV-01).
var errCut = errors.New("not executed: the answer was cut at the output limit, so the arguments may be incomplete; ask again with less")

// batch runs the calls of one answer. It returns their results in the order of
// the calls, and whether all of them vote for ending the run. Every call has its
// result in the conversation when batch returns, also when a listener failed
// (hazards LOOP-01, EVNT-01).
func (r *run) batch(answer *llm.Assistant, calls []*llm.ToolCall) ([]*llm.ToolResult, bool, error) {
	if answer.StopReason == llm.StopLength {
		results, err := r.unexecuted(calls, errCut)
		return results, false, err
	}
	var outcomes []call.Outcome
	var results []*llm.ToolResult
	var err error
	if r.sequential(calls) {
		outcomes, results, err = r.inOrder(calls)
	} else {
		outcomes, results, err = r.overlapping(calls)
	}
	terminate := len(outcomes) > 0
	for _, o := range outcomes {
		terminate = terminate && o.Result.Terminate
	}
	return results, terminate, err
}

// sequential decides how a batch runs: one call after another if everything
// does, if one of its tools asks for it, or if it holds a shell tool beside one
// that changes files, since the shell may depend on the change (hazard LOOP-06).
func (r *run) sequential(calls []*llm.ToolCall) bool {
	if r.options.ToolExecution == tool.Sequential {
		return true
	}
	one, shell, writes := false, false, false
	err := contain("list of tools", func() error {
		for _, c := range calls {
			t := r.options.Executor.Lookup(c.Name)
			if t == nil {
				continue
			}
			switch info := t.Info(); {
			case info.ExecutionMode == tool.Sequential:
				one = true
			case info.Access == tool.AccessWrite:
				writes = true
			case info.Access != tool.AccessRead:
				shell = true
			}
		}
		return nil
	})
	// A list that panics does so for each call too, which then gets the error.
	return err != nil || one || shell && writes
}

// inOrder completes each call before the next. After an abort the rest get a
// result without having started.
func (r *run) inOrder(calls []*llm.ToolCall) (outcomes []call.Outcome, results []*llm.ToolResult, err error) {
	var failure error // of a listener; the results come first
	for _, c := range calls {
		var o call.Outcome
		var m *llm.ToolResult
		if r.ctx.Err() != nil || failure != nil {
			o = call.Failed(errNotExecuted)
			m = r.result(c, o)
		} else {
			args := told(c)
			if failure = r.emit(r.ctx, ToolExecutionStart{c.ID, c.Name, args}); failure != nil {
				o = call.Failed(errNotExecuted)
			} else {
				p := r.options.Executor.Prepare(r.ctx, request(c))
				p.Reserve()
				o = r.execute(c, args, p)
			}
			var err error
			m, err = r.settle(c, o)
			failure = errors.Join(failure, err, r.end(c, o))
		}
		outcomes, results = append(outcomes, o), append(results, m)
		failure = errors.Join(failure, r.add(m, o))
	}
	return outcomes, results, failure
}

// overlapping prepares the calls in order, runs those that passed at the same
// time, and adds the results in order.
func (r *run) overlapping(calls []*llm.ToolCall) ([]call.Outcome, []*llm.ToolResult, error) {
	outcomes := make([]call.Outcome, len(calls))
	results := make([]*llm.ToolResult, len(calls)) // of the calls whose end was told
	prepared := make([]*call.Prepared, len(calls))
	args := make([]json.RawMessage, len(calls)) // of the calls whose start was told
	var failure error
	for i, c := range calls {
		if r.ctx.Err() != nil || failure != nil {
			break
		}
		args[i] = told(c)
		if failure = r.emit(r.ctx, ToolExecutionStart{c.ID, c.Name, args[i]}); failure != nil {
			break
		}
		p := r.options.Executor.Prepare(r.ctx, request(c))
		if o := p.Immediate(); o != nil {
			outcomes[i] = *o
			results[i], failure = r.settle(c, *o)
			failure = errors.Join(failure, r.end(c, *o))
			continue
		}
		prepared[i] = p
	}
	stopped := r.ctx.Err() != nil || failure != nil
	for _, p := range prepared {
		if p != nil && !stopped {
			p.Reserve()
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex // one end event at a time; guards failure
	for i, c := range calls {
		p := prepared[i]
		if p == nil || stopped {
			continue
		}
		wg.Go(func() {
			o := r.execute(c, args[i], p)
			m, err := r.settle(c, o)
			mu.Lock()
			defer mu.Unlock()
			outcomes[i], results[i] = o, m
			failure = errors.Join(failure, err, r.end(c, o))
		})
	}
	wg.Wait()
	for i, c := range calls {
		switch {
		case results[i] != nil:
		case args[i] != nil:
			outcomes[i] = call.Failed(r.notRun())
			m, err := r.settle(c, outcomes[i])
			results[i] = m
			failure = errors.Join(failure, err, r.end(c, outcomes[i]))
		default:
			outcomes[i] = call.Failed(errNotExecuted)
			results[i] = r.result(c, outcomes[i])
		}
		failure = errors.Join(failure, r.add(results[i], outcomes[i]))
	}
	return outcomes, results, failure
}

// notRun is why a call that was prepared did not run: an abort, or a listener
// that failed.
func (r *run) notRun() error {
	if r.ctx.Err() != nil {
		return call.Aborted(r.ctx)
	}
	return errNotExecuted
}

// told is what events say of a call's arguments: a copy, so that a listener that
// changes it changes neither the conversation nor what runs (hazard LOOP-02). It
// is never nil.
func told(c *llm.ToolCall) json.RawMessage {
	return append(json.RawMessage{}, c.Arguments...)
}

func request(c *llm.ToolCall) call.Request {
	return call.Request{ID: c.ID, Name: c.Name, Args: c.Arguments}
}

// execute runs one call and tells its updates. A failure of their listeners is
// in the outcome.
func (r *run) execute(c *llm.ToolCall, args json.RawMessage, p *call.Prepared) call.Outcome {
	return r.options.Executor.Run(r.ctx, p, func(partial tool.Result) error {
		return r.emit(r.ctx, ToolExecutionUpdate{c.ID, c.Name, args, partial})
	})
}

// settle makes the message for a call that was started and is final, and hands
// it to ToolOutcome before anybody is told, whatever its siblings do (hazard
// LOOP-03). The error is that of the hook, or of a listener of updates.
func (r *run) settle(c *llm.ToolCall, o call.Outcome) (*llm.ToolResult, error) {
	m := r.result(c, o)
	err := o.UpdateErr
	if keep := r.options.ToolOutcome; keep != nil {
		err = errors.Join(err, contain("ToolOutcome", func() error { return keep(r.ctx, m) }))
	}
	return m, err
}

// end tells that a call is final.
func (r *run) end(c *llm.ToolCall, o call.Outcome) error {
	return r.emit(r.ctx, ToolExecutionEnd{
		ToolCallID: c.ID, ToolName: c.Name, Result: o.Result, IsError: o.IsError, Denied: o.Denied, EffectiveArgs: o.Args,
	})
}

// result is the message for an outcome.
func (r *run) result(c *llm.ToolCall, o call.Outcome) *llm.ToolResult {
	content := o.Result.Content
	if content == nil {
		content = []tool.Content{}
	}
	return &llm.ToolResult{
		ToolCallID: c.ID, ToolName: c.Name, Content: content, Details: o.Result.Details, Usage: o.Result.Usage,
		AddedToolNames: o.Result.AddedToolNames, IsError: o.IsError, Timestamp: r.options.Now().UnixMilli(),
	}
}

// add puts a result into the conversation and counts its call.
func (r *run) add(m *llm.ToolResult, o call.Outcome) error {
	if o.Executed {
		r.summary.ToolCalls[m.ToolName]++
	}
	if o.IsError {
		r.summary.ToolFails++
	}
	if o.Denied {
		r.summary.Denied++
	}
	if o.Result.Usage != nil {
		r.summary.Usage = plus(r.summary.Usage, *o.Result.Usage)
	}
	return r.message(m)
}

// unexecuted gives every call a result that says why it did not run.
func (r *run) unexecuted(calls []*llm.ToolCall, why error) (results []*llm.ToolResult, failure error) {
	for _, c := range calls {
		o := call.Failed(why)
		m := r.result(c, o)
		results = append(results, m)
		failure = errors.Join(failure, r.add(m, o))
	}
	return results, failure
}

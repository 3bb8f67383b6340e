package agent

import (
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
	shell, writes := false, false
	for _, c := range calls {
		t := r.options.Executor.Lookup(c.Name)
		if t == nil {
			continue
		}
		switch info := t.Info(); {
		case info.ExecutionMode == tool.Sequential:
			return true
		case info.Access == tool.AccessWrite:
			writes = true
		case info.Access != tool.AccessRead:
			shell = true
		}
	}
	return shell && writes
}

// inOrder completes each call before the next. After an abort the rest get a
// result without having started.
func (r *run) inOrder(calls []*llm.ToolCall) (outcomes []call.Outcome, results []*llm.ToolResult, err error) {
	var failure error // of a listener; the results come first
	for _, c := range calls {
		var o call.Outcome
		if r.ctx.Err() != nil || failure != nil {
			o = call.Failed(errNotExecuted)
		} else {
			failure = r.emit(r.ctx, ToolExecutionStart{c.ID, c.Name, c.Arguments})
			if failure != nil {
				o = call.Failed(errNotExecuted)
			} else {
				p := r.options.Executor.Prepare(r.ctx, request(c))
				p.Reserve()
				o, failure = r.execute(c, p)
			}
			failure = errors.Join(failure, r.end(c, o))
		}
		outcomes = append(outcomes, o)
		m := r.result(c, o)
		results = append(results, m)
		failure = errors.Join(failure, r.message(m))
	}
	return outcomes, results, failure
}

// overlapping prepares the calls in order, runs those that passed at the same
// time, and adds the results in order.
func (r *run) overlapping(calls []*llm.ToolCall) ([]call.Outcome, []*llm.ToolResult, error) {
	outcomes := make([]call.Outcome, len(calls))
	prepared := make([]*call.Prepared, len(calls))
	started := make([]bool, len(calls)) // its start was told
	final := make([]bool, len(calls))   // its outcome is known and its end told
	var failure error
	for i, c := range calls {
		if r.ctx.Err() != nil || failure != nil {
			break
		}
		started[i] = true
		if failure = r.emit(r.ctx, ToolExecutionStart{c.ID, c.Name, c.Arguments}); failure != nil {
			break
		}
		p := r.options.Executor.Prepare(r.ctx, request(c))
		if o := p.Immediate(); o != nil {
			outcomes[i], final[i] = *o, true
			failure = r.end(c, *o)
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
			o, err := r.execute(c, p)
			mu.Lock()
			defer mu.Unlock()
			outcomes[i], final[i] = o, true
			failure = errors.Join(failure, err, r.end(c, o))
		})
	}
	wg.Wait()
	var results []*llm.ToolResult
	for i, c := range calls {
		switch {
		case final[i]:
		case started[i]:
			outcomes[i] = call.Failed(r.notRun())
			failure = errors.Join(failure, r.end(c, outcomes[i]))
		default:
			outcomes[i] = call.Failed(errNotExecuted)
		}
		m := r.result(c, outcomes[i])
		results = append(results, m)
		failure = errors.Join(failure, r.message(m))
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

func request(c *llm.ToolCall) call.Request {
	return call.Request{ID: c.ID, Name: c.Name, Args: c.Arguments}
}

// execute runs one call and tells its updates. The error is a listener's.
func (r *run) execute(c *llm.ToolCall, p *call.Prepared) (call.Outcome, error) {
	o := r.options.Executor.Run(r.ctx, p, func(partial tool.Result) error {
		return r.emit(r.ctx, ToolExecutionUpdate{c.ID, c.Name, c.Arguments, partial})
	})
	return o, o.UpdateErr
}

// end tells that a call is final.
func (r *run) end(c *llm.ToolCall, o call.Outcome) error {
	return r.emit(r.ctx, ToolExecutionEnd{
		ToolCallID: c.ID, ToolName: c.Name, Result: o.Result, IsError: o.IsError, Denied: o.Denied, EffectiveArgs: o.Args,
	})
}

// result is the message for an outcome, counted.
func (r *run) result(c *llm.ToolCall, o call.Outcome) *llm.ToolResult {
	if o.Executed {
		r.summary.ToolCalls[c.Name]++
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
	content := o.Result.Content
	if content == nil {
		content = []tool.Content{}
	}
	return &llm.ToolResult{
		ToolCallID: c.ID, ToolName: c.Name, Content: content, Details: o.Result.Details, Usage: o.Result.Usage,
		AddedToolNames: o.Result.AddedToolNames, IsError: o.IsError, Timestamp: r.options.Now().UnixMilli(),
	}
}

// unexecuted gives every call a result that says why it did not run.
func (r *run) unexecuted(calls []*llm.ToolCall, why error) (results []*llm.ToolResult, failure error) {
	for _, c := range calls {
		m := r.result(c, call.Failed(why))
		results = append(results, m)
		failure = errors.Join(failure, r.message(m))
	}
	return results, failure
}

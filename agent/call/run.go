package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/piremote/piremote/tools/tool"
)

// Run executes a prepared call to its outcome. Partial results go to update,
// which may be nil; it may be called concurrently, and every call of it has
// returned before after hooks run. Run returns once the tool has, or, when ctx
// has ended and the tool ignores it, after the grace: such a call is abandoned,
// and what it returns later is lost (hazard LOOP-03).
//
// The content of a failure is the text of the tool's error; the details and
// effects that the tool returned beside it are kept.
func (x *Executor) Run(ctx context.Context, p *Prepared, update func(tool.Result) error) Outcome {
	if p.immediate != nil {
		return *p.immediate
	}
	if ctx.Err() != nil {
		p.Release()
		return Failed(Aborted(ctx))
	}
	start := time.Now()
	updates := newUpdates(update)
	result, err := x.execute(ctx, p, updates.accept)
	updateErr := updates.settle()

	outcome := Outcome{
		Result: result, IsError: err != nil, Err: err, Executed: true, Args: p.call.Args,
		UpdateErr: updateErr, LateUpdates: updates.lateCount,
	}
	if err != nil {
		// A failure neither votes for the end of the run nor adds tools.
		outcome.Result.Content, outcome.Result.Terminate = []tool.Content{tool.Text{Text: err.Error()}}, false
		outcome.Result.AddedToolNames = nil
	}
	x.after(ctx, p, &outcome)
	outcome.Duration = time.Since(start)
	return outcome
}

type executed struct {
	result tool.Result
	err    error
}

// execute runs the tool in a goroutine of its own, so that one that ignores
// cancellation can be left behind (hazard LOOP-03).
func (x *Executor) execute(ctx context.Context, p *Prepared, update tool.Update) (tool.Result, error) {
	done := make(chan executed, 1)
	reservation := p.reservation
	p.reservation = nil
	go func() {
		var e executed
		returned := false
		defer func() {
			if !returned {
				e.err = fmt.Errorf("tool %s ended its goroutine and gave no result", p.request.Name)
			}
			done <- e
		}()
		e.err = contain("tool "+p.request.Name, func() (err error) {
			if reservation != nil {
				e.result, err = reservation.Execute(ctx, update)
			} else {
				e.result, err = p.tool.Execute(ctx, p.handed(), update)
			}
			return err
		})
		returned = true
	}()
	select {
	case e := <-done:
		return e.result, e.err
	case <-ctx.Done():
	}
	grace := time.NewTimer(x.options.Grace)
	defer grace.Stop()
	select {
	case e := <-done:
		return e.result, e.err
	case <-grace.C:
		return tool.Result{}, fmt.Errorf("%s aborted, may still be running: it did not end within %v: %w",
			p.request.Name, x.options.Grace, context.Cause(ctx))
	}
}

func (x *Executor) after(ctx context.Context, p *Prepared, o *Outcome) {
	for _, hook := range x.options.After {
		var patch *Patch
		err := contain("hook after "+p.request.Name, func() (err error) {
			patch, err = hook(ctx, Request{p.request.ID, p.request.Name, clone(p.call.Args)}, o.Result, o.IsError)
			if err != nil {
				err = fmt.Errorf("hook after %s failed: %w", p.request.Name, err)
			}
			return err
		})
		if err != nil {
			o.Err = errors.Join(err, o.Err)
			o.Result.Content, o.IsError = []tool.Content{tool.Text{Text: err.Error()}}, true
			o.Result.Terminate = false
			continue
		}
		patch.apply(o)
	}
}

func (p *Patch) apply(o *Outcome) {
	if p == nil {
		return
	}
	if p.Content != nil {
		o.Result.Content = *p.Content
	}
	if p.Details != nil {
		o.Result.Details = *p.Details
	}
	if p.Usage != nil {
		o.Result.Usage = p.Usage
	}
	if p.IsError != nil {
		o.IsError = *p.IsError
	}
	if p.Terminate != nil {
		o.Result.Terminate = *p.Terminate
	}
}

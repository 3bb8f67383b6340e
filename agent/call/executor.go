package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/tool"
)

// Request is a tool call as a model or a person made it.
type Request struct {
	ID   string
	Name string
	Args json.RawMessage
}

// Options configures an Executor. The zero value runs no tool.
type Options struct {
	// Tools returns the active tools; it is asked at each call.
	Tools func() []tool.Tool
	// Scope returns where and for whom calls run; it is asked when one starts.
	Scope func() tool.Scope
	// Input hooks may change the arguments; they run in order.
	Input []InputHook
	// Before hooks may block; they see exactly what will run.
	Before []BeforeHook
	// After hooks patch the result, in order.
	After []AfterHook
	// Grace is how long a tool may take to end after cancellation before it is
	// abandoned; zero means 10 s.
	Grace time.Duration
}

// InputHook may return changed arguments; nil leaves them. An error blocks the
// call.
type InputHook func(ctx context.Context, req Request) (json.RawMessage, error)

// BeforeHook decides on a call whose arguments are final. An error blocks it.
type BeforeHook func(ctx context.Context, req Request) (Decision, error)

// Decision is what a BeforeHook says of a call.
type Decision struct {
	Block     bool
	Reason    string // for the model
	Terminate bool   // a blocked call votes for ending the run
}

// AfterHook may patch the outcome of a call that was executed. If it fails, the
// outcome becomes its error.
type AfterHook func(ctx context.Context, req Request, result tool.Result, isError bool) (*Patch, error)

// Patch replaces fields of a result; nil fields stay.
type Patch struct {
	Content   *[]tool.Content
	Details   *any
	Usage     *tool.Usage
	IsError   *bool
	Terminate *bool
}

// Outcome is how a call ended. Every call has exactly one.
type Outcome struct {
	Result   tool.Result // Content is what the model sees, also of a failure
	IsError  bool
	Err      error           // the cause of a failure, if it was an error value
	Executed bool            // the tool ran
	Denied   bool            // a before hook blocked it
	Args     json.RawMessage // what ran; nil if nothing did
	Duration time.Duration
	// UpdateErr is the failure of a delivery of updates. It does not change the
	// outcome.
	UpdateErr error
	// LateUpdates counts updates that came after the tool had returned; nil if
	// it did not run.
	LateUpdates func() int
}

// Executor runs calls. It is safe for concurrent use.
type Executor struct {
	options    Options
	mu         sync.Mutex
	validators map[string]*schema.Validator // by schema text
}

// New returns an executor.
func New(o Options) *Executor {
	if o.Tools == nil {
		o.Tools = func() []tool.Tool { return nil }
	}
	if o.Scope == nil {
		o.Scope = func() tool.Scope { return tool.Scope{} }
	}
	if o.Grace <= 0 {
		o.Grace = 10 * time.Second
	}
	return &Executor{options: o, validators: map[string]*schema.Validator{}}
}

// Lookup returns the active tool of that exact name, or nil.
func (x *Executor) Lookup(name string) tool.Tool {
	for _, t := range x.options.Tools() {
		if t.Info().Name == name {
			return t
		}
	}
	return nil
}

// Do prepares and runs one call. update may be nil.
func (x *Executor) Do(ctx context.Context, req Request, update func(tool.Result) error) Outcome {
	p := x.Prepare(ctx, req)
	p.Reserve()
	return x.Run(ctx, p, update)
}

// Prepared is a call that passed, or failed, everything before execution.
// Exactly one of Run and Release ends it.
type Prepared struct {
	request     Request
	tool        tool.Tool
	call        tool.Call
	reservation tool.Reservation
	immediate   *Outcome
}

// Immediate returns the outcome of a call that will not be executed, or nil.
func (p *Prepared) Immediate() *Outcome { return p.immediate }

// Reserve takes the call's place in the queues of its tool. The calls of a
// batch reserve in source order, before any of them runs. A panic of the tool
// becomes the call's outcome.
func (p *Prepared) Reserve() {
	r, ok := p.tool.(tool.Reserver)
	if p.immediate != nil || p.reservation != nil || !ok {
		return
	}
	err := contain("tool "+p.request.Name, func() error {
		p.reservation = r.Reserve(p.handed())
		return nil
	})
	if err != nil {
		outcome := Failed(err)
		p.immediate = &outcome
	}
}

// handed is the call as the tool gets it: what was approved is what is told later,
// whatever the tool does to its copy.
func (p *Prepared) handed() tool.Call {
	c := p.call
	c.Args = clone(c.Args)
	return c
}

// Release gives the call up without running it.
func (p *Prepared) Release() {
	if p.reservation != nil {
		reservation := p.reservation
		p.reservation = nil
		// The outcome is settled already: a panic here can change nothing.
		_ = contain("tool "+p.request.Name, func() error {
			reservation.Release()
			return nil
		})
	}
}

// ErrAborted is the cause of calls that an abort kept from running.
var ErrAborted = errors.New("Operation aborted") //nolint:staticcheck // the sentence that the specification fixes

// aborted is ErrAborted with the reason why the context ended.
type aborted struct{ cause error }

func (aborted) Error() string     { return ErrAborted.Error() }
func (a aborted) Unwrap() []error { return []error{ErrAborted, a.cause} }

// Aborted is ErrAborted for a context that has ended; the error is also that of
// the context and its cause.
func Aborted(ctx context.Context) error {
	return aborted{errors.Join(ctx.Err(), context.Cause(ctx))}
}

// Failed is the outcome of a call that failed with err before it ran.
func Failed(err error) Outcome {
	return Outcome{Result: tool.TextResult(err.Error()), IsError: true, Err: err}
}

// Prepare does everything before execution. It never returns nil.
func (x *Executor) Prepare(ctx context.Context, req Request) *Prepared {
	p := &Prepared{request: req}
	err := contain("preparation of "+req.Name, func() error { return x.prepare(ctx, p) })
	if err != nil {
		outcome := Failed(err)
		var denied *DeniedError
		if errors.As(err, &denied) {
			outcome.Denied, outcome.Result.Terminate = true, denied.Terminate
		}
		p.immediate = &outcome
	}
	return p
}

// DeniedError is the error of a call that a before hook blocked.
type DeniedError struct {
	Tool      string
	Reason    string
	Terminate bool
}

func (e *DeniedError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("Tool %q was blocked", e.Tool)
	}
	return e.Reason
}

func (x *Executor) prepare(ctx context.Context, p *Prepared) error {
	if ctx.Err() != nil {
		return Aborted(ctx)
	}
	if p.tool = x.Lookup(p.request.Name); p.tool == nil {
		return x.notFound(p.request.Name)
	}
	args := p.request.Args
	if a, ok := p.tool.(tool.ArgumentPreparer); ok {
		prepared, err := a.PrepareArguments(clone(args))
		if err != nil {
			return fmt.Errorf("arguments of %s: %w", p.request.Name, err)
		}
		args = prepared
	}
	args, err := x.validate(p.tool, args)
	if err != nil {
		return err
	}
	for _, hook := range x.options.Input {
		changed, err := hook(ctx, Request{p.request.ID, p.request.Name, clone(args)})
		if err != nil {
			return fmt.Errorf("hook before %s failed, so it did not run: %w", p.request.Name, err)
		}
		if changed != nil {
			if args, err = x.validate(p.tool, changed); err != nil {
				return err
			}
		}
	}
	for _, hook := range x.options.Before {
		decision, err := hook(ctx, Request{p.request.ID, p.request.Name, clone(args)})
		if err != nil {
			return fmt.Errorf("hook before %s failed, so it did not run: %w", p.request.Name, err)
		}
		if decision.Block {
			return &DeniedError{Tool: p.request.Name, Reason: decision.Reason, Terminate: decision.Terminate}
		}
	}
	if ctx.Err() != nil {
		return Aborted(ctx)
	}
	p.call = tool.Call{ID: p.request.ID, Args: args, Scope: x.options.Scope()}
	return nil
}

func (x *Executor) notFound(name string) error {
	var names []string
	for _, t := range x.options.Tools() {
		names = append(names, t.Info().Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("Tool %q not found: no tools are active", name) //nolint:staticcheck // model-facing sentence
	}
	return fmt.Errorf("Tool %q not found. Available tools: %s", name, strings.Join(names, ", ")) //nolint:staticcheck // model-facing sentence
}

func (x *Executor) validate(t tool.Tool, args json.RawMessage) (json.RawMessage, error) {
	info := t.Info()
	x.mu.Lock()
	v := x.validators[string(info.Parameters)]
	x.mu.Unlock()
	if v == nil {
		var err error
		if v, err = schema.Compile(info.Parameters); err != nil {
			return nil, fmt.Errorf("tool %s: %w", info.Name, err)
		}
		x.mu.Lock()
		x.validators[string(info.Parameters)] = v
		x.mu.Unlock()
	}
	return v.Validate(info.Name, args)
}

func clone(raw json.RawMessage) json.RawMessage {
	return append(json.RawMessage(nil), raw...)
}

// contain turns a panic of fn into an error that names what panicked.
func contain(what string, fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s panicked: %v", what, r)
		}
	}()
	return fn()
}

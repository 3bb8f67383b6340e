package tool

import (
	"context"
	"encoding/json"
)

// Declaration is what can be requested: the part of a tool that a model
// provider advertises.
type Declaration struct {
	// Name is the protocol identifier, matched exactly.
	Name string
	// Description tells the model when the tool applies.
	Description string
	// Parameters is the JSON schema of the arguments object.
	Parameters json.RawMessage
	// ConstrainedSampling, when set, asks a provider that can do it to
	// constrain the arguments to a grammar; Off forbids it.
	ConstrainedSampling ConstrainedSampling
}

// ConstrainedSampling says whether a provider should constrain sampling of a
// tool's arguments.
type ConstrainedSampling string

// The choices of constrained sampling; the zero value leaves it to the provider.
const (
	ConstrainedSamplingOff    ConstrainedSampling = "off"
	ConstrainedSamplingSchema ConstrainedSampling = "json_schema"
)

// ExecutionMode says whether calls of a tool may overlap with others of their batch.
type ExecutionMode string

// The execution modes; the zero value means Parallel.
const (
	Parallel   ExecutionMode = "parallel"
	Sequential ExecutionMode = "sequential"
)

// Access classifies the effects of a tool. The batch scheduler, read-only mode
// and protocol annotations read it; it grants nothing.
type Access string

// The classes of access. The zero value means that nothing is known, which is
// treated like AccessShell.
const (
	AccessRead  Access = "read"  // reads the workspace only
	AccessWrite Access = "write" // changes files that its arguments name
	AccessShell Access = "shell" // may change anything
)

// Info is the constant description of a tool.
type Info struct {
	Declaration
	Label         string // for people; empty means Name
	ExecutionMode ExecutionMode
	Access        Access
}

// Update delivers a partial result while a call runs. It may be called from any
// goroutine, also after Execute returned, when it does nothing.
type Update func(Result)

// Tool is one executable capability.
//
// Execute runs one call whose arguments were already prepared and validated
// against the schema. A failure is a returned error whose text the model reads:
// it names the failed operation, the thing, and what to change. Text that looks
// like success is never returned for a failure. The Result returned beside an
// error still carries Details and Effects; its Content is ignored.
//
// Execute honours ctx: it returns soon after cancellation, with an error that
// satisfies errors.Is(err, context.Canceled) or context.DeadlineExceeded, and
// not before its effect has ended. It may be called concurrently.
type Tool interface {
	Info() Info
	Execute(ctx context.Context, call Call, update Update) (Result, error)
}

// ArgumentPreparer is a tool that adapts known older argument shapes before
// validation. It is pure computation: no effects, no waiting.
type ArgumentPreparer interface {
	PrepareArguments(args json.RawMessage) (json.RawMessage, error)
}

// Prompter is a tool that contributes to the system prompt.
type Prompter interface {
	Prompt() Prompt
}

// Prompt is a tool's part of the system prompt.
type Prompt struct {
	Snippet    string   // one line for the list of tools
	Guidelines []string // each names its tool
}

// Reserver is a tool that takes its place in a queue at once. The scheduler
// calls Reserve for the calls of a batch in source order, before any of them
// runs, so that effects on one file happen in that order.
type Reserver interface {
	Reserve(call Call) Reservation
}

// Reservation is a call's place. Exactly one of Execute and Release is called.
type Reservation interface {
	// Execute runs the call, under the contract of Tool.Execute.
	Execute(ctx context.Context, update Update) (Result, error)
	// Release gives the place up without running.
	Release()
}

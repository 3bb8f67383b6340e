package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// Options configures an Agent. Provider is required.
type Options struct {
	Provider llm.Provider
	Executor *call.Executor
	// Tools returns the active tools, which are advertised to the model.
	Tools    func() []tool.Tool
	System   string
	Thinking string
	// SessionID names the session towards the provider.
	SessionID string
	// ToolExecution is Sequential to run every batch one call at a time.
	ToolExecution tool.ExecutionMode
	// TransformContext may replace the messages of a request; the conversation
	// itself stays.
	TransformContext func(ctx context.Context, messages []llm.Message) ([]llm.Message, error)
	// ConvertToLLM then makes of them what the provider understands: it drops or
	// rewrites what only the application knows.
	ConvertToLLM func(ctx context.Context, messages []llm.Message) ([]llm.Message, error)
	// Retry governs answers that fail on the way.
	Retry Retry
	// ShouldStopAfterTurn ends the run after a turn.
	ShouldStopAfterTurn func(TurnEnd) bool
	// PrepareNextTurn runs before every turn but the first.
	PrepareNextTurn func(ctx context.Context) error
	// ToolOutcome is given the result of a call as soon as that call is final:
	// before its end is told, before its siblings end, and before the result
	// becomes part of the conversation at the batch's end (hazard LOOP-03). Calls
	// that were never started don't reach it. It may be called concurrently, also
	// with a context that has ended, and does not change the message. An error
	// ends the run visibly; the result stays.
	ToolOutcome func(ctx context.Context, result *llm.ToolResult) error
	// Activate is given the names of tools that the results of a batch added, when
	// its results are in the conversation and before the next request, and by Load
	// those in what is loaded. Tools and the Executor then offer them; see
	// call.Toolbox.
	Activate func(names []string)
	// FollowUpAll delivers all queued follow-ups at once instead of one by one;
	// SteerAll does so for steering messages.
	FollowUpAll, SteerAll bool
	Limits                Limits
	// ListenerPatience is how long a listener may take for one event, give or take a
	// quarter; 0 means a minute, less than 0 any time. After that the context of the
	// run ends with a *StuckListenerError. A listener that is deaf to it holds the
	// run up until it returns: use a Feed for what may be slow.
	ListenerPatience time.Duration
	// Now is the clock of timestamps, which may be asked concurrently; nil means
	// time.Now.
	Now func() time.Time
}

// StopReason is why a run ended.
type StopReason string

// The reasons for which runs end.
const (
	StopDone       StopReason = "done"       // the model asked for nothing more
	StopTerminated StopReason = "terminated" // every call of a batch voted for the end
	StopRequested  StopReason = "requested"  // ShouldStopAfterTurn
	StopAborted    StopReason = "aborted"
	StopError      StopReason = "error"  // the provider or a listener failed
	StopLength     StopReason = "length" // the answer was cut and asked for no tool
	StopTurns      StopReason = "turn limit"
	StopToolCalls  StopReason = "tool call limit"
	StopCost       StopReason = "cost limit"
	StopTime       StopReason = "time limit"
	StopRepeats    StopReason = "repetition limit"
)

// Limited reports whether a limit ended the run.
func (r StopReason) Limited() bool {
	switch r {
	case StopTurns, StopToolCalls, StopCost, StopTime, StopRepeats:
		return true
	case StopDone, StopTerminated, StopRequested, StopAborted, StopError, StopLength:
	}
	return false
}

// Summary is how a run ended and what it took.
type Summary struct {
	Reason    StopReason
	Err       error          // for StopError
	Turns     int            // without those that were tried again
	ToolCalls map[string]int // by tool name, those that ran
	ToolFails int
	Denied    int
	Retries   int // answers that failed and were asked for again
	Usage     tool.Usage
	Elapsed   time.Duration
}

// State is what listeners and screens may look at.
type State struct {
	Messages  []llm.Message
	Streaming *llm.Assistant // the answer that is coming in
	Pending   []string       // ids of tool calls under way
	Running   bool
	Steering  []llm.Message
	FollowUps []llm.Message
}

// Listener is told of an event. An error ends the run visibly, after the
// results of tools are safe; later listeners don't get that event.
type Listener func(ctx context.Context, e Event) error

// ErrBusy is returned when a run is already under way.
var ErrBusy = errors.New("the agent is already running: steer it, queue a follow-up, or wait")

// Agent is one conversation with its loop. Its methods are safe for concurrent
// use; one run goes on at a time.
type Agent struct {
	options Options

	mu        sync.Mutex
	messages  []llm.Message
	streaming *llm.Assistant
	pending   []string
	steering  []llm.Message
	followUps []llm.Message
	listeners []*Listener
	telling   []*telling              // events that listeners have just now
	cancel    context.CancelCauseFunc // of the run under way
	idle      chan struct{}           // closed when it has ended
}

// New returns an agent with an empty conversation.
func New(o Options) (*Agent, error) {
	if o.Provider == nil {
		return nil, errors.New("an agent needs a provider")
	}
	if o.Tools == nil {
		o.Tools = func() []tool.Tool { return nil }
	}
	if o.Executor == nil {
		o.Executor = call.New(call.Options{Tools: o.Tools})
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Agent{options: o}, nil
}

// Subscribe registers a listener and returns what removes it.
func (a *Agent) Subscribe(l Listener) (unsubscribe func()) {
	p := &l
	a.mu.Lock()
	defer a.mu.Unlock()
	a.listeners = append(slices.Clone(a.listeners), p)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.listeners = slices.DeleteFunc(slices.Clone(a.listeners), func(o *Listener) bool { return o == p })
	}
}

// State returns a copy of the present state.
func (a *Agent) State() State {
	a.mu.Lock()
	defer a.mu.Unlock()
	return State{
		Messages: slices.Clone(a.messages), Streaming: a.streaming, Pending: slices.Clone(a.pending),
		Running: a.cancel != nil, Steering: slices.Clone(a.steering), FollowUps: slices.Clone(a.followUps),
	}
}

// view is the conversation as it stands. It is not copied: what is added later
// does not show in it, and nobody changes its elements.
func (a *Agent) view() []llm.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.messages[:len(a.messages):len(a.messages)]
}

// Prompt adds messages and runs until nothing more is asked. It returns after
// the listeners of agent_end have. A failure of the provider, of a hook or of a
// listener is part of the Summary; the error is ErrBusy, or that of a listener
// that failed even while a failure was being told.
func (a *Agent) Prompt(ctx context.Context, messages ...llm.Message) (Summary, error) {
	return a.run(ctx, messages, Summary{})
}

// Continue runs from the conversation as it stands; behind an answer, with what
// is queued. Without anything to answer it is an error.
func (a *Agent) Continue(ctx context.Context) (Summary, error) {
	return a.Resume(ctx, Summary{})
}

// Resume is Continue for a run that goes on with what an earlier one began: its
// Summary counts on from that of the earlier one, and so do the limits.
func (a *Agent) Resume(ctx context.Context, earlier Summary) (Summary, error) {
	a.mu.Lock()
	empty, queued := len(a.messages) == 0, len(a.steering)+len(a.followUps) > 0
	a.mu.Unlock()
	switch {
	case queued:
	case empty:
		return Summary{}, errors.New("there is nothing to continue: the conversation is empty")
	case a.answered():
		return Summary{}, errors.New("there is nothing to continue: the model has answered")
	}
	return a.run(ctx, nil, earlier)
}

// Load replaces the conversation while no run is under way.
func (a *Agent) Load(messages []llm.Message) error {
	a.mu.Lock()
	if a.cancel != nil {
		a.mu.Unlock()
		return ErrBusy
	}
	a.messages = slices.Clone(messages)
	a.mu.Unlock()
	var names []string
	for _, m := range messages {
		if r, ok := m.(*llm.ToolResult); ok {
			names = append(names, r.AddedToolNames...)
		}
	}
	return a.activate(names)
}

// activate offers the tools of these names from the next request on.
func (a *Agent) activate(names []string) error {
	activate := a.options.Activate
	if len(names) == 0 || activate == nil {
		return nil
	}
	return contain("Activate", func() error {
		activate(names)
		return nil
	})
}

// Steer queues a message that reaches the model after the current batch and
// before the next answer.
func (a *Agent) Steer(m llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steering = append(a.steering, m)
}

// FollowUp queues a message for when the run would end.
func (a *Agent) FollowUp(m llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.followUps = append(a.followUps, m)
}

// ClearQueues empties both queues and returns what was in them.
func (a *Agent) ClearQueues() (steering, followUps []llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	steering, followUps = a.steering, a.followUps
	a.steering, a.followUps = nil, nil
	return steering, followUps
}

// errAbort is the cause of a run that Abort ended.
var errAbort = fmt.Errorf("aborted: %w", context.Canceled)

// Abort ends the run under way, if there is one. It does not wait.
func (a *Agent) Abort() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel != nil {
		a.cancel(errAbort)
	}
}

// WaitForIdle returns when no run is under way, or when ctx ends.
func (a *Agent) WaitForIdle(ctx context.Context) error {
	a.mu.Lock()
	idle := a.idle
	a.mu.Unlock()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

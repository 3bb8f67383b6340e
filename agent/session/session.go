package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// Options configures a Session. Model is required.
type Options struct {
	Model Model
	// Models lists the models that OpenModel opens; nil means the one of Model.
	Models    func() []ModelInfo
	OpenModel func(ctx context.Context, provider, id string) (Model, error)
	// Thinking is the level to begin with; empty leaves it to the provider.
	Thinking string
	System   string
	// Tools are the active tools. Further ones are active once the result of a call
	// names them.
	Tools, Further []tool.Tool
	// Definitions are further tools, which are given the session.
	Definitions []Definition
	// Scope is where calls run; the session's id is put into it. Who starts a session
	// for another gives it the ParentID and the CorrelationID of that one's calls; a
	// session of its own correlates by its own id.
	Scope tool.Scope
	// Before hooks decide on calls, after the session's own.
	Before []call.BeforeHook
	Hooks  *Hooks
	// Bash runs a command on the workspace for a person, telling its output as it
	// comes. A command that ran, whatever its exit code, is no error; when ctx ends
	// the result says Cancelled. Nil means that there is no shell.
	Bash func(ctx context.Context, command string, output func(delta string)) (BashResult, error)
	// Retry governs answers that failed and may succeed later.
	Retry agent.Retry
	// Compaction says when the conversation is compacted by itself.
	Compaction CompactionOptions
	Limits     agent.Limits
	// Log is the session to go on with; nil begins a new one, with Name.
	Log  *store.Log
	Name string
	// Files is what the tools remember of files; nil if it need not outlive the process.
	Files FileMemory
	// Store says where new sessions are kept; without a Dir they are in memory.
	Store store.Options
	// Now is the clock of timestamps; nil means time.Now.
	Now func() time.Time
}

// Behavior says which queue something goes to that is said while a run goes on.
type Behavior string

// The behaviors.
const (
	Steer    Behavior = "steer"    // reaches the model after the present calls
	FollowUp Behavior = "followUp" // waits until the run would end
)

// Listener is told of events, in order, before what follows them happens. It may
// be called from several goroutines at a time. It must return soon, and must not
// wait for the session to become idle. A panic is reported like that of a hook.
type Listener func(Event)

// Session is a conversation with an agent. Its methods are safe for concurrent
// use, but not from within a hook or a listener where they wait for the session.
type Session struct {
	options Options
	hooks   *Hooks
	agent   *agent.Agent
	life    context.Context //nolint:containedctx // runs live as long as the session
	end     context.CancelFunc

	mu          sync.Mutex
	log         *store.Log
	listeners   []*Listener
	model       Model
	thinking    string
	system      string // of the present run
	steerAll    bool
	followAll   bool
	autoRetry   bool
	autoCompact bool
	closed      bool

	busy       chan struct{} // closed when what goes on has ended; nil if nothing does
	running    bool          // what goes on is a run
	compacting bool
	aborting   bool                 // Abort was called for what goes on
	final      bool                 // what is queued is to stay
	waiting    bool                 // for a new attempt
	stop       context.CancelFunc   // ends the run of the loop, the wait or the summary under way
	attempt    int                  // new attempts for the present answer
	overflowed bool                 // the overflow of this run was compacted away once
	failure    error                // of the last request
	planned    plan                 // what follows the present run of the loop
	told       [2]int               // the queues' lengths as last told
	pending    []*llm.BashExecution // commands that ended during the run
	bash       map[int]context.CancelFunc
	nextBash   int
	asker      Asker

	beside sync.WaitGroup // runs, a person's commands, and what is told beside them
}

// New returns a session with an empty conversation. Close ends it.
func New(o Options) (*Session, error) {
	if o.Model.Provider == nil {
		return nil, errors.New("a session needs a model")
	}
	if o.Hooks == nil {
		o.Hooks = &Hooks{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Session{
		options: o, hooks: o.Hooks, log: o.Log, model: o.Model, thinking: o.Thinking, system: o.System,
		autoRetry: o.Retry.Attempts >= 0, autoCompact: !o.Compaction.Off, bash: map[int]context.CancelFunc{},
	}
	box, err := s.toolbox()
	if err != nil {
		return nil, err
	}
	s.agent, err = agent.New(agent.Options{
		Provider: provider{s}, Tools: box.Active, Activate: box.Activate, ToolOutcome: s.toolOutcome, Retry: agent.Retry{Attempts: -1}, Limits: o.Limits, Now: o.Now, TransformContext: s.context,
		Executor: call.New(call.Options{
			Tools: box.Active, Scope: s.scope, Input: []call.InputHook{s.toolCall}, Before: o.Before, After: []call.AfterHook{s.toolResult},
		}),
	})
	if err != nil {
		return nil, err
	}
	s.agent.Subscribe(s.listen)
	if err := s.open(); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

// toolbox holds the tools of the options.
func (s *Session) toolbox() (*call.Toolbox, error) {
	tools := slices.Clone(s.options.Tools)
	for _, d := range s.options.Definitions {
		tools = append(tools, d.tool(s))
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.Info().Name)
	}
	return call.NewToolbox(append(tools, s.options.Further...), names...)
}

// open gives the session its log, and the agent what is said in it.
func (s *Session) open() (err error) {
	o := s.options
	began := s.log == nil
	if began {
		if s.log, err = s.newLog(o.Store.ParentSession); err != nil {
			return err
		}
	} else if _, err := s.log.Settle(); err != nil {
		return err
	}
	c, err := s.log.Context(s.log.Leaf())
	if err != nil {
		return err
	}
	var entries []store.Entry
	if m := o.Model.Info; m.ID != "" && (c.Model.Provider != m.Provider || c.Model.ID != m.ID) {
		entries = append(entries, store.ModelChange{Provider: m.Provider, ModelID: m.ID})
	}
	if o.Thinking != "" && o.Thinking != c.Thinking {
		entries = append(entries, store.ThinkingLevelChange{ThinkingLevel: o.Thinking})
	}
	if o.Thinking == "" && !began && c.Thinking != "off" {
		s.thinking = c.Thinking
	}
	if o.Name != "" && o.Name != s.log.Name() {
		entries = append(entries, store.SessionInfo{Name: o.Name})
	}
	for _, e := range entries {
		if err := s.put(e); err != nil {
			return err
		}
	}
	s.recallFiles(s.log)
	return s.load(s.log)
}

// Start tells the hooks that the session begins.
func (s *Session) Start(ctx context.Context) {
	OnSessionStart.tell(ctx, s.hooks, Started{"startup"})
}

// Close ends what goes on, waits for it, and tells the hooks that the session
// ends. Further prompts are refused.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.ClearQueue()
	s.AbortBash()
	err := s.Abort(ctx)
	s.end()
	s.beside.Wait()
	OnSessionShutdown.tell(ctx, s.hooks, Shutdown{"quit"})
	return errors.Join(err, s.Log().Close())
}

// Subscribe registers a listener and returns what removes it.
func (s *Session) Subscribe(l Listener) (unsubscribe func()) {
	p := &l
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(slices.Clone(s.listeners), p)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listeners = slices.DeleteFunc(slices.Clone(s.listeners), func(o *Listener) bool { return o == p })
	}
}

// emit tells an event to each listener in turn.
func (s *Session) emit(e Event) {
	s.mu.Lock()
	listeners := s.listeners
	s.mu.Unlock()
	for _, l := range listeners {
		if err := contain("listener", func() error { (*l)(e); return nil }); err != nil {
			s.hooks.report("listener", err)
		}
	}
}

// AppendEntry puts a record of a program into the session. No model sees it.
func (s *Session) AppendEntry(kind string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("the entry %s is no JSON: %w", kind, err)
	}
	e, err := s.Log().Append(store.Custom{CustomType: kind, Data: text})
	if err == nil {
		s.emit(EntryAppended{e})
	}
	return err
}

// SetName names the session.
func (s *Session) SetName(ctx context.Context, name string) error {
	if name == "" {
		return errors.New("a session's name can't be empty")
	}
	if err := s.put(store.SessionInfo{Name: name}); err != nil {
		return err
	}
	changed := InfoChanged{name}
	s.emit(changed)
	OnInfoChanged.tell(ctx, s.hooks, changed)
	return nil
}

// State is what can be asked of a session at any time.
type State struct {
	Model                 ModelInfo
	Thinking              string
	Running, Compacting   bool
	SteerAll, FollowUpAll bool
	SessionID, Name       string
	Path                  string // of its file; empty in memory
	AutoCompaction        bool
	Messages, Pending     int // in the context; queued
}

// State returns what is so now.
func (s *Session) State() State {
	steering, followUps := s.agent.Queued()
	s.mu.Lock()
	log := s.log
	state := State{
		Model: s.model.Info, Thinking: s.thinking, Running: s.running, Compacting: s.compacting,
		SteerAll: s.steerAll, FollowUpAll: s.followAll, AutoCompaction: s.autoCompact, Pending: len(steering) + len(followUps),
	}
	s.mu.Unlock()
	state.SessionID, state.Name, state.Path, state.Messages = log.Header().ID, log.Name(), log.Path(), len(s.Messages())
	return state
}

// scope is where a call runs, built when it starts.
func (s *Session) scope() tool.Scope {
	scope := s.options.Scope
	scope.SessionID, scope.Lifetime = s.Log().Header().ID, s.life
	if scope.CorrelationID == "" {
		scope.CorrelationID = scope.SessionID
	}
	if scope.SessionEnv == nil {
		scope.SessionEnv = map[string]string{"PI_SESSION_ID": scope.SessionID}
	}
	return scope
}

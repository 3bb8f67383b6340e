package session

import (
	"context"
	"errors"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// Disposition is what became of something that was said.
type Disposition string

// The dispositions.
const (
	Handled Disposition = "handled" // a hook has dealt with it
	Queued  Disposition = "queued"
	Began   Disposition = "started" // a run has begun
)

// ErrRunning is returned for a prompt during a run that names no queue.
var ErrRunning = errors.New("a run is under way: say whether this steers it or follows it")

// errClosed is returned once the session has ended.
var errClosed = errors.New("the session has ended")

// Prompt says something and waits until the session has settled. Behind another
// run it returns once that has taken it into its queue, with an empty Summary.
// When ctx ends the run is aborted.
func (s *Session) Prompt(ctx context.Context, in Input) (agent.Summary, error) {
	var summary agent.Summary
	settled := make(chan struct{})
	d, err := s.submit(ctx, in, func(result agent.Summary) { summary = result; close(settled) })
	if err != nil || d != Began {
		return summary, err
	}
	select {
	case <-settled:
	case <-ctx.Done():
		s.interrupt(true)
		<-settled
	}
	return summary, nil
}

// Submit says something and returns once it is accepted; what follows is told by
// events. The run lives as long as the session.
func (s *Session) Submit(ctx context.Context, in Input) (Disposition, error) {
	return s.submit(ctx, in, func(agent.Summary) {})
}

func (s *Session) submit(ctx context.Context, in Input, settled func(agent.Summary)) (Disposition, error) {
	in, err := OnInput.ask(ctx, s.hooks, in)
	if err != nil {
		return "", err
	}
	if in.Handled {
		return Handled, nil
	}
	m, err := s.message(in)
	if err != nil {
		return "", err
	}
	for {
		wait, d, err := s.begin(in, m)
		if wait == nil {
			if d == Queued {
				s.tellQueues()
			}
			if d == Began {
				s.beside.Go(func() { s.drive(m, settled) }) //nolint:contextcheck // a run lives as long as the session
			}
			return d, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

func (s *Session) message(in Input) (*llm.User, error) {
	if in.Text == "" && len(in.Images) == 0 {
		return nil, errors.New("there is nothing in the message: give text or an image")
	}
	m := &llm.User{Timestamp: s.options.Now().UnixMilli()}
	if in.Text != "" {
		m.Content = append(m.Content, tool.Text{Text: in.Text})
	}
	for _, i := range in.Images {
		m.Content = append(m.Content, i)
	}
	return m, nil
}

// begin takes the session for a run, or queues m behind the one under way. If
// something else goes on it returns what to wait for.
func (s *Session) begin(in Input, m *llm.User) (wait <-chan struct{}, d Disposition, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, "", errClosed
	case s.running:
		return nil, Queued, s.enqueue(in.Behavior, m)
	case s.busy != nil:
		return s.busy, "", nil
	}
	s.busy, s.running, s.aborting, s.final = make(chan struct{}), true, false, false
	s.attempt, s.overflowed = 0, false
	return nil, Began, nil
}

// enqueue puts a message into a queue of the agent. s.mu is held, so that a run
// sees it before it settles.
func (s *Session) enqueue(b Behavior, m *llm.User) error {
	switch b {
	case Steer:
		s.agent.Steer(m)
	case FollowUp:
		s.agent.FollowUp(m)
	default:
		return ErrRunning
	}
	return nil
}

// drive runs the loop until nothing goes on by itself, and settles.
func (s *Session) drive(m *llm.User, settled func(agent.Summary)) {
	start, err := OnBeforeAgentStart.ask(s.life, s.hooks, BeforeStart{Messages: []llm.Message{m}, System: s.options.System})
	if err != nil {
		s.hooks.report("before_agent_start", err)
	}
	s.mu.Lock()
	s.system = start.System
	s.mu.Unlock()
	summary, err := s.loop(func(ctx context.Context) (agent.Summary, error) { return s.agent.Prompt(ctx, start.Messages...) })
	if err != nil && summary.Err == nil {
		summary.Reason, summary.Err = agent.StopError, err
	}
	s.settle(AgentSettled{Aborted: summary.Reason == agent.StopAborted})
	settled(summary)
}

// loop runs the agent, and again as long as something is to follow.
func (s *Session) loop(run func(context.Context) (agent.Summary, error)) (agent.Summary, error) {
	for {
		s.mu.Lock()
		s.failure, s.planned = nil, planNothing
		s.mu.Unlock()
		ctx, cancel := s.interruptible()
		summary, err := run(ctx)
		cancel()
		if err != nil {
			return summary, err
		}
		if !s.mend(summary) && !s.more(summary) {
			summary.Err = s.retry().TooLong(summary.Err)
			return summary, nil
		}
		run = func(ctx context.Context) (agent.Summary, error) { return s.agent.Resume(ctx, summary) }
	}
}

// more reports whether something is queued that the session goes on with. If not,
// the run has ended: what is said from then on begins another.
func (s *Session) more(summary agent.Summary) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	steering, followUps := s.agent.Queued()
	if len(steering)+len(followUps) > 0 && !s.closed && !s.final && !summary.Reason.Limited() {
		s.aborting = false
		return true
	}
	s.running = false
	return false
}

// settle tells that nothing goes on any more, and lets the next thing begin.
func (s *Session) settle(e AgentSettled) {
	s.mu.Lock()
	s.running = false
	s.flush()
	s.mu.Unlock()
	s.emit(e)
	if err := s.Log().Sync(); err != nil {
		s.hooks.report("session", err)
	}
	s.release()
	OnAgentSettled.tell(s.life, s.hooks, e)
}

// release lets the next thing begin.
func (s *Session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	close(s.busy)
	s.busy, s.running, s.compacting, s.stop = nil, false, false, nil
}

// flush adds the commands that ended meanwhile to the conversation. s.mu is held,
// the session is taken, and the agent is idle.
func (s *Session) flush() {
	if len(s.pending) == 0 {
		return
	}
	for _, b := range s.pending {
		if _, err := s.log.Append(store.Message{Message: b}); err != nil {
			s.hooks.report("bash", err)
		}
	}
	s.pending = nil
	if err := s.load(s.log); err != nil {
		s.hooks.report("bash", err)
	}
}

// acquire takes the session for something that is no run; what goes on is aborted
// first. release gives it back.
func (s *Session) acquire(ctx context.Context) error {
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return errClosed
		}
		if s.busy == nil {
			s.busy, s.aborting, s.final = make(chan struct{}), false, false
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		if err := s.Abort(ctx); err != nil {
			return err
		}
	}
}

// Abort ends what goes on and waits until the session is idle. What is queued
// stays queued, and a run goes on with it: ClearQueue first to prevent that.
func (s *Session) Abort(ctx context.Context) error {
	s.interrupt(false)
	return s.WaitForIdle(ctx)
}

// interrupt ends what goes on, without waiting. After a final one what is queued
// stays there for the next run.
func (s *Session) interrupt(final bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aborting, s.final = s.busy != nil, s.final || final
	if s.stop != nil {
		s.stop()
	}
}

// WaitForIdle returns when nothing goes on and nothing follows by itself, or when
// ctx ends.
func (s *Session) WaitForIdle(ctx context.Context) error {
	for {
		s.mu.Lock()
		busy := s.busy
		s.mu.Unlock()
		if busy == nil {
			return nil
		}
		select {
		case <-busy:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// interruptible returns a context that Abort ends: of a run of the loop, a wait or
// a summary.
func (s *Session) interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(s.life)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = cancel
	if s.aborting {
		cancel()
	}
	return ctx, cancel
}

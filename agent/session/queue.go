package session

import (
	"context"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools/tool"
)

// Queue puts something into a queue; while no run goes on it waits there for the
// next one. Behavior must be Steer or FollowUp.
func (s *Session) Queue(ctx context.Context, in Input) (Disposition, error) {
	in, err := OnInput.ask(ctx, s.hooks, in)
	if err != nil || in.Handled {
		return Handled, err
	}
	m, err := s.message(in)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	if s.closed {
		err = errClosed
	} else {
		err = s.enqueue(in.Behavior, m)
	}
	s.mu.Unlock()
	if err != nil {
		return "", err
	}
	s.tellQueues()
	return Queued, nil
}

// ClearQueue empties both queues and returns what was in them, as text.
func (s *Session) ClearQueue() (steering, followUps []string) {
	a, b := s.agent.ClearQueues()
	s.tellQueues()
	return texts(a), texts(b)
}

// SetQueueModes says for each queue whether all that waits is delivered at once,
// or one message at a time.
func (s *Session) SetQueueModes(steerAll, followUpAll bool) {
	s.mu.Lock()
	s.steerAll, s.followAll = steerAll, followUpAll
	s.mu.Unlock()
	s.agent.SetQueueModes(steerAll, followUpAll)
}

// tellQueues tells what waits, if that has changed.
func (s *Session) tellQueues() {
	steering, followUps := s.agent.Queued()
	s.mu.Lock()
	lengths := [2]int{len(steering), len(followUps)}
	same := lengths == s.told
	s.told = lengths
	s.mu.Unlock()
	if !same {
		s.emit(QueueUpdate{texts(steering), texts(followUps)})
	}
}

func texts(messages []llm.Message) []string {
	list := []string{}
	for _, m := range messages {
		if u, ok := m.(*llm.User); ok {
			list = append(list, tool.TextOf(u.Content))
		}
	}
	return list
}

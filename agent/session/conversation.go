package session

import (
	"slices"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
)

// Log is the tree of the present session.
func (s *Session) Log() *store.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log
}

// newLog begins a session: in the folder of the options, or in memory.
func (s *Session) newLog(parent string) (*store.Log, error) {
	o := s.options.Store
	o.ParentSession = parent
	if o.Dir == "" {
		return store.InMemory(o), nil
	}
	return store.Create(o)
}

// put appends an entry.
func (s *Session) put(e store.Entry) error {
	_, err := s.Log().Append(e)
	return err
}

// Messages are those of the present branch, after its last compaction, whose
// summary comes first.
func (s *Session) Messages() []store.Item {
	log := s.Log()
	c, err := log.Context(log.Leaf())
	if err != nil || c.Items == nil {
		return []store.Item{}
	}
	return c.Items
}

// reload gives the agent the conversation of the log. The agent is idle.
func (s *Session) reload() error { return s.load(s.Log()) }

func (s *Session) load(log *store.Log) error {
	c, err := log.Context(log.Leaf())
	if err != nil {
		return err
	}
	return s.agent.Load(withoutFailures(c.Messages))
}

// withoutFailures leaves out answers that failed, with the results that say that
// their calls did not run.
func withoutFailures(messages []llm.Message) []llm.Message {
	failed := false
	return slices.DeleteFunc(slices.Clone(messages), func(m llm.Message) bool {
		switch m := m.(type) {
		case *llm.Assistant:
			failed = m.StopReason == llm.StopError
			return failed
		case *llm.ToolResult:
			return failed
		case *llm.User:
			failed = false
		}
		return false
	})
}

// LastText is the prose of the last answer that has some.
func (s *Session) LastText() (text string, ok bool) {
	for _, i := range slices.Backward(s.Messages()) {
		if a, ok := i.Record.(*llm.Assistant); ok && a.Text() != "" {
			return a.Text(), true
		}
	}
	return "", false
}

// said lists what the user said on the way to the leaf.
func said(log *store.Log) []store.Message {
	var list []store.Message
	for _, e := range log.Branch(log.Leaf()) {
		if m, ok := e.(store.Message); ok {
			if _, ok := m.Message.(*llm.User); ok {
				list = append(list, m)
			}
		}
	}
	return list
}

package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// Renew begins an empty session in the place of this one. What goes on is aborted
// first, and what is queued is dropped. parent is the file that it continues, or
// empty. It reports whether a hook has prevented it.
func (s *Session) Renew(ctx context.Context, parent string) (cancelled bool, err error) {
	return s.replace(ctx, "new", func() (*store.Log, bool, error) {
		before, err := OnBeforeSwitch.ask(ctx, s.hooks, BeforeSwitch{Reason: "new"})
		if err != nil || before.Cancel {
			return nil, before.Cancel, err
		}
		log, err := s.newLog(parent)
		return log, false, err
	})
}

// Switch opens a session's file in the place of this session. One that worked on
// another workspace needs the person's consent.
func (s *Session) Switch(ctx context.Context, path string) (cancelled bool, err error) {
	return s.replace(ctx, "resume", func() (*store.Log, bool, error) {
		before, err := OnBeforeSwitch.ask(ctx, s.hooks, BeforeSwitch{Reason: "resume", Target: path})
		if err != nil || before.Cancel {
			return nil, before.Cancel, err
		}
		log, err := store.Open(path, s.options.Store)
		if err != nil {
			return nil, false, err
		}
		if err := s.consent(ctx, log.Header()); err != nil {
			return nil, false, errors.Join(err, log.Close())
		}
		return log, false, nil
	})
}

// consent asks the person about a session of another workspace, and refuses it
// where nobody can be asked.
func (s *Session) consent(ctx context.Context, h store.Header) error {
	elsewhere := Elsewhere(h, s.options.Store.Workspace)
	if elsewhere == nil {
		return nil
	}
	answer, err := s.Ask(ctx, Dialog{Kind: DialogConfirm, Title: "Go on with a session of another workspace?", Message: elsewhere.Error()})
	if err != nil || !answer.Confirmed {
		return elsewhere
	}
	return nil
}

// Elsewhere is the error of a session that worked on another workspace than this
// one, or nil. A file that names none worked on this machine, in its folder.
func Elsewhere(h store.Header, here *store.Workspace) error {
	there := h.Workspace
	if there == nil {
		there = &store.Workspace{Backend: "local", Root: h.Cwd, Label: h.Cwd}
	}
	if here == nil || there.Backend == here.Backend && there.Host == here.Host && there.Root == here.Root {
		return nil
	}
	return fmt.Errorf("session %s worked on %s, not on %s: open that workspace, or fork the session to go on here", h.ID, there.Label, here.Label)
}

// ForkMessage is something that the user said, at which the session can be forked.
type ForkMessage struct {
	EntryID string `json:"entryId"`
	Text    string `json:"text"`
}

// ForkMessages lists what the user said on the present branch.
func (s *Session) ForkMessages() []ForkMessage {
	list := []ForkMessage{}
	for _, m := range said(s.Log()) {
		list = append(list, ForkMessage{m.ID, userText(m)})
	}
	return list
}

// Fork begins, in the place of this session, one that ends before something that
// the user said, and returns what that was.
func (s *Session) Fork(ctx context.Context, entryID string) (text string, cancelled bool, err error) {
	cancelled, err = s.replace(ctx, "fork", func() (*store.Log, bool, error) {
		list := said(s.Log())
		i := slices.IndexFunc(list, func(m store.Message) bool { return m.ID == entryID })
		if i < 0 {
			return nil, false, fmt.Errorf("entry %q is nothing that the user said on the present branch: get_fork_messages lists that", entryID)
		}
		text = userText(list[i])
		return s.forkAt(ctx, entryID, list[i].ParentID)
	})
	return text, cancelled, err
}

// Clone begins a copy of the present branch in the place of this session.
func (s *Session) Clone(ctx context.Context) (cancelled bool, err error) {
	return s.replace(ctx, "fork", func() (*store.Log, bool, error) {
		leaf := s.Log().Leaf()
		if leaf == "" {
			return nil, false, errors.New("there is nothing to clone: the session is empty")
		}
		return s.forkAt(ctx, leaf, leaf)
	})
}

func (s *Session) forkAt(ctx context.Context, entryID, leaf string) (log *store.Log, cancelled bool, err error) {
	before, err := OnBeforeFork.ask(ctx, s.hooks, BeforeFork{EntryID: entryID})
	if err != nil || before.Cancel {
		return nil, before.Cancel, err
	}
	log, err = s.Log().Fork(leaf, s.options.Store)
	return log, false, err
}

// replace puts the log that next returns in the place of the present one, whose
// file it closes.
func (s *Session) replace(ctx context.Context, reason string, next func() (*store.Log, bool, error)) (cancelled bool, err error) {
	if err := s.acquire(ctx); err != nil {
		return false, err
	}
	defer s.release()
	log, cancelled, err := next()
	if err != nil || cancelled {
		return cancelled, err
	}
	_, err = log.Settle()
	if err == nil {
		err = s.load(log)
	}
	if err != nil {
		return false, errors.Join(err, log.Close())
	}
	s.recallFiles(log)
	OnSessionShutdown.tell(ctx, s.hooks, Shutdown{reason})
	s.ClearQueue()
	s.mu.Lock()
	old := s.log
	s.flush() // commands that ended meanwhile belong to the old one
	s.log = log
	s.mu.Unlock()
	err = errors.Join(old.Close(), s.load(log))
	OnSessionStart.tell(ctx, s.hooks, Started{reason})
	return false, err
}

func userText(m store.Message) string {
	if u, ok := m.Message.(*llm.User); ok {
		return tool.TextOf(u.Content)
	}
	return ""
}

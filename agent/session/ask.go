package session

import (
	"context"
	"errors"
	"time"
)

// DialogKind is what a question asks for.
type DialogKind string

// The kinds of questions.
const (
	DialogSelect  DialogKind = "select"
	DialogConfirm DialogKind = "confirm"
	DialogInput   DialogKind = "input"
	DialogEditor  DialogKind = "editor"
)

// Dialog is a question to the person.
type Dialog struct {
	Kind    DialogKind
	Title   string
	Message string   // of a confirm
	Options []string // of a select
	Preset  string   // a hint of an input, the text of an editor
	Timeout time.Duration
}

// Answer is what the person said; Cancelled if nothing.
type Answer struct {
	Value     string
	Confirmed bool
	Cancelled bool
}

// Asker asks the person. It returns when there is an answer or ctx has ended.
type Asker func(ctx context.Context, d Dialog) (Answer, error)

// SetAsker says who asks the person; nil means that nobody can.
func (s *Session) SetAsker(a Asker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asker = a
}

// ErrNobodyToAsk is returned where no person can be asked.
var ErrNobodyToAsk = errors.New("there is nobody to ask")

// Ask puts a question to the person and waits for the answer. One that takes
// longer than the Dialog's Timeout is Cancelled.
func (s *Session) Ask(ctx context.Context, d Dialog) (Answer, error) {
	s.mu.Lock()
	ask := s.asker
	s.mu.Unlock()
	if ask == nil {
		return Answer{Cancelled: true}, ErrNobodyToAsk
	}
	asked := ctx
	if d.Timeout > 0 {
		var cancel context.CancelFunc
		asked, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	prompt := UIPrompt{d.Kind, d.Title}
	told := make(chan struct{})
	s.beside.Go(func() {
		defer close(told)
		OnUIPromptStart.tell(s.life, s.hooks, prompt)
	})
	defer s.beside.Go(func() {
		<-told
		OnUIPromptEnd.tell(s.life, s.hooks, prompt)
	})
	answer, err := ask(asked, d)
	if err != nil && ctx.Err() == nil && asked.Err() != nil {
		return Answer{Cancelled: true}, nil
	}
	return answer, err
}

package session

import (
	"context"
	"errors"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
)

// BashResult is how a person's command ended.
type BashResult struct {
	Output         string `json:"output"`
	ExitCode       *int   `json:"exitCode,omitempty"` // nil if it did not end by itself
	Cancelled      bool   `json:"cancelled"`
	Truncated      bool   `json:"truncated"` // Output is the end of it
	FullOutputPath string `json:"fullOutputPath,omitempty"`
}

// Bash runs a command on the workspace for a person, beside the conversation. Its
// output is told as BashExecutionUpdate with that id. It becomes a message, which
// the model reads with the next prompt unless exclude is set; a command that ends
// during a run is added when that has ended. A hook that fails keeps the command
// from running.
func (s *Session) Bash(ctx context.Context, id, command string, exclude bool) (BashResult, error) {
	if s.options.Bash == nil {
		return BashResult{}, errors.New("this workspace has no shell")
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return BashResult{}, errClosed
	}
	s.beside.Add(1) // Close waits until the command is kept
	s.mu.Unlock()
	defer s.beside.Done()
	asked, err := OnUserBash.ask(ctx, s.hooks, UserBash{Command: command, ExcludeFromContext: exclude})
	if err != nil {
		return BashResult{}, err
	}
	result := asked.Result
	if result == nil {
		r, err := s.execute(ctx, id, asked.Command)
		if err != nil {
			return r, err
		}
		result = &r
	}
	return *result, s.keep(&llm.BashExecution{
		Command: asked.Command, Output: result.Output, ExitCode: result.ExitCode, Cancelled: result.Cancelled, Truncated: result.Truncated,
		FullOutputPath: result.FullOutputPath, ExcludeFromContext: asked.ExcludeFromContext, Timestamp: s.options.Now().UnixMilli(),
	})
}

func (s *Session) execute(ctx context.Context, id, command string) (BashResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return BashResult{}, errClosed
	}
	n := s.nextBash
	s.nextBash++
	s.bash[n] = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.bash, n)
	}()
	return s.options.Bash(ctx, command, func(delta string) { s.emit(BashExecutionUpdate{id, delta}) })
}

// keep adds a command to the conversation.
func (s *Session) keep(b *llm.BashExecution) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy != nil {
		s.pending = append(s.pending, b)
		return nil
	}
	if _, err := s.log.Append(store.Message{Message: b}); err != nil {
		return err
	}
	return s.load(s.log)
}

// AbortBash ends all commands that persons run. It does not wait.
func (s *Session) AbortBash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range s.bash {
		cancel()
	}
}

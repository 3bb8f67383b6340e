package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/cmd/piremote/internal/printer"
	"github.com/piremote/piremote/cmd/piremote/internal/wire"
	"github.com/piremote/piremote/tools/textout"
)

// run answers a prompt and exits: print mode.
func (a *app) run(ctx context.Context, args []string) (err error) {
	if a.flags.mode != "text" && a.flags.mode != "json" {
		return &usageError{fmt.Errorf("--mode %s is none of text, json", a.flags.mode)}
	}
	prompt, err := a.prompt(args)
	if err != nil {
		return err
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	model, err := wire.OpenModel(ctx, cfg, a.getenv)
	if err != nil {
		return &usageError{err}
	}
	s, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, s.workspace.Close()) }()
	ag, err := s.agent(model, a.retrying)
	if err != nil {
		return err
	}
	if a.flags.mode == "json" {
		return a.runJSON(ctx, s, ag, prompt)
	}
	summary, err := ag.Prompt(ctx, prompt)
	if err != nil {
		return err
	}
	if text := strings.TrimSpace(lastText(ag)); text != "" {
		if _, err := fmt.Fprintln(a.Stdout, a.forStdout(text)); err != nil {
			return err
		}
	}
	return ended(summary)
}

// closing joins the error of closing to that of the work, which decides the
// exit code.
func closing(err, closeErr error) error {
	if closeErr == nil {
		return err
	}
	var coded *codeError
	if errors.As(err, &coded) {
		return &codeError{coded.code, errors.Join(coded.err, closeErr)}
	}
	return errors.Join(err, closeErr)
}

// ended turns the end of a run into an exit code and a sentence.
func ended(s agent.Summary) error {
	code := runCode(s)
	if code == exitOK {
		return nil
	}
	if s.Err != nil {
		return &codeError{code, s.Err}
	}
	return &codeError{code, fmt.Errorf("the run ended: %s", s.Reason)}
}

func (a *app) runJSON(ctx context.Context, s *session, ag *agent.Agent, prompt llm.Message) error {
	p := printer.NewJSON(a.Stdout)
	if err := p.Record(map[string]any{
		"type": "session", "version": 3, "id": s.id, "timestamp": time.Now().UTC().Format(time.RFC3339Nano),
		"cwd": s.workspace.Set.Target.Dir, "workspace": s.workspace.Set.Target.Label,
	}); err != nil {
		return err
	}
	ag.Subscribe(p.Listen)
	summary, err := ag.Prompt(ctx, prompt)
	if err != nil {
		return err
	}
	reason := string(summary.Reason)
	if summary.Err != nil {
		reason += ": " + summary.Err.Error()
	}
	err = ended(summary)
	return errors.Join(p.Record(map[string]any{"type": "agent_settled"}), p.Record(map[string]any{
		"type": "verdict", "exitCode": exitCode(err), "reason": reason,
		"toolCalls": map[string]any{"executed": summary.ToolCalls, "failed": summary.ToolFails, "denied": summary.Denied},
		"turns":     summary.Turns, "usage": summary.Usage,
	}), err)
}

// retrying tells the user that an answer failed and is asked for again.
func (a *app) retrying(n agent.RetryNotice) {
	a.notice(fmt.Sprintf("the model did not answer (%v); attempt %d of %d follows in %s", n.Err, n.Attempt, n.Attempts, n.Delay.Round(time.Second)))
}

func (s *session) agent(model wire.Model, retrying func(agent.RetryNotice)) (*agent.Agent, error) {
	limits := s.config.Limits
	return agent.New(agent.Options{
		Provider: model.Provider, Thinking: model.Thinking, Retry: agent.Retry{Notify: retrying}, Executor: s.executor, Tools: s.active, SessionID: s.id,
		System: systemPrompt(s.workspace.Set.Target, s.tools),
		Limits: agent.Limits{
			Turns: limits.Turns, ToolCalls: limits.ToolCalls, Cost: limits.Cost, Time: limits.Time, Repeats: limits.Repeats,
		},
	})
}

// prompt joins what is piped in and the arguments.
func (a *app) prompt(args []string) (llm.Message, error) {
	var parts []string
	if piped, err := a.piped(); err != nil {
		return nil, err
	} else if piped != "" {
		parts = append(parts, piped)
	}
	if len(args) > 0 {
		parts = append(parts, strings.Join(args, " "))
	}
	text := strings.TrimSpace(strings.Join(parts, "\n\n"))
	if text == "" {
		return nil, &usageError{errors.New("there is no prompt: give one as an argument or pipe it in; see piremote --help")}
	}
	return llm.UserText(text, time.Now().UnixMilli()), nil
}

// maxPrompt bounds what is read from a pipe.
const maxPrompt = 8 << 20

func (a *app) piped() (string, error) {
	if a.Stdin == nil {
		return "", nil
	}
	info, err := a.Stdin.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 && !info.Mode().IsRegular() {
		return "", nil //nolint:nilerr // nothing usable is connected
	}
	data, err := io.ReadAll(io.LimitReader(a.Stdin, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	if len(data) > maxPrompt {
		return "", &usageError{fmt.Errorf("standard input is over %s; put it into a file of the workspace", textout.FormatSize(maxPrompt))}
	}
	return string(data), nil
}

// forStdout cleans text for a terminal; anything else gets it as it is.
func (a *app) forStdout(text string) string {
	if f, ok := a.Stdout.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return textout.Clean(text)
		}
	}
	return text
}

func lastText(ag *agent.Agent) string {
	messages := ag.State().Messages
	for i := len(messages) - 1; i >= 0; i-- {
		if m, ok := messages[i].(*llm.Assistant); ok {
			return m.Text()
		}
	}
	return ""
}

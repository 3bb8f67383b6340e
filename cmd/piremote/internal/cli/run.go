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
	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/cmd/piremote/internal/printer"
	"github.com/piremote/piremote/cmd/piremote/internal/wire"
	"github.com/piremote/piremote/tools/textout"
)

// run answers a prompt and exits, or serves commands.
func (a *app) run(ctx context.Context, args []string) (err error) {
	switch a.flags.mode {
	case "text", "json", "rpc":
	default:
		return &usageError{fmt.Errorf("--mode %s is none of text, json, rpc", a.flags.mode)}
	}
	if err := a.flags.session.chosen(); err != nil {
		return err
	}
	prompt := ""
	if a.flags.mode != "rpc" {
		if prompt, err = a.prompt(args); err != nil {
			return err
		}
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	model, err := wire.OpenModel(ctx, cfg, a.getenv)
	if err != nil {
		return &usageError{err}
	}
	w, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, w.close()) }()
	s, err := a.converse(ctx, w, model)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, s.Close(context.WithoutCancel(ctx))) }()
	switch a.flags.mode {
	case "rpc":
		return a.serveRPC(ctx, s, args)
	case "json":
		return a.runJSON(ctx, s, prompt)
	}
	s.Subscribe(a.retrying)
	s.Start(ctx)
	summary, err := s.Prompt(ctx, session.Input{Text: prompt})
	if err != nil {
		return err
	}
	if text, _ := s.LastText(); strings.TrimSpace(text) != "" {
		if _, err := fmt.Fprintln(a.Stdout, a.forStdout(strings.TrimSpace(text))); err != nil {
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

// runJSON tells the run as JSON lines; a reader that is gone ends it.
func (a *app) runJSON(ctx context.Context, s *session.Session, prompt string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := printer.NewJSON(a.Stdout, cancel)
	p.Record(s.Log().Header())
	s.Subscribe(p.Listen)
	s.Start(ctx)
	summary, err := s.Prompt(ctx, session.Input{Text: prompt, Source: "json"})
	if err != nil {
		return err
	}
	reason := string(summary.Reason)
	if summary.Err != nil {
		reason += ": " + summary.Err.Error()
	}
	err = ended(summary)
	p.Record(map[string]any{
		"type": "verdict", "exitCode": exitCode(err), "reason": reason,
		"toolCalls": map[string]any{"executed": summary.ToolCalls, "failed": summary.ToolFails, "denied": summary.Denied},
		"turns":     summary.Turns, "usage": summary.Usage,
	})
	return errors.Join(p.Err(), err)
}

// retrying tells the user that an answer failed and is asked for again.
func (a *app) retrying(e session.Event) {
	if n, ok := e.(session.AutoRetryStart); ok {
		a.notice(fmt.Sprintf("the model did not answer (%s); attempt %d of %d follows in %s", n.ErrorMessage, n.Attempt, n.MaxAttempts, n.Delay.Round(time.Second)))
	}
}

// prompt joins what is piped in and the arguments.
func (a *app) prompt(args []string) (string, error) {
	var parts []string
	if piped, err := a.piped(); err != nil {
		return "", err
	} else if piped != "" {
		parts = append(parts, piped)
	}
	if len(args) > 0 {
		parts = append(parts, strings.Join(args, " "))
	}
	text := strings.TrimSpace(strings.Join(parts, "\n\n"))
	if text == "" {
		return "", &usageError{errors.New("there is no prompt: give one as an argument or pipe it in; see piremote --help")}
	}
	return text, nil
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

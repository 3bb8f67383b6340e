package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/tool"
)

func (a *app) toolCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "tool NAME [JSON | key=value... | -]",
		Short: "Run one tool call on the workspace, without a model",
		Long: "tool runs one call and prints exactly the text that a model would see. Arguments are a JSON object, key=value\n" +
			"pairs, or \"-\" for a JSON object on standard input. An error result goes to standard error, with exit code 1.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{fmt.Errorf("tool needs a name: one of %s", strings.Join(tools.Names(), ", "))}
			}
			return a.tool(cmd.Context(), args[0], args[1:], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object with content, details, isError and durationMs")
	return cmd
}

func (a *app) tool(ctx context.Context, name string, args []string, asJSON bool) (err error) {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	if known := toolNames(cfg); !slices.Contains(known, name) {
		return &usageError{fmt.Errorf("unknown tool %q: the tools are %s", name, strings.Join(known, ", "))}
	}
	raw, err := a.toolArguments(args)
	if err != nil {
		return &usageError{err}
	}
	s, err := a.open(ctx, []string{name})
	if err != nil {
		return err
	}
	defer func() { err = closing(err, s.close()) }()
	outcome := s.executor.Do(ctx, call.Request{ID: "call_1", Name: name, Args: raw}, nil)
	if asJSON {
		if err := a.printOutcome(outcome); err != nil {
			return err
		}
		if outcome.IsError {
			return &codeError{outcomeCode(outcome), nil}
		}
		return nil
	}
	text := outcomeText(outcome.Result.Content)
	if outcome.IsError {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		_, _ = io.WriteString(a.Stderr, a.forStdout(text))
		return &codeError{outcomeCode(outcome), nil}
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err = io.WriteString(a.Stdout, a.forStdout(text))
	return err
}

// outcomeCode is the exit code of an error result: that of a broken way to the
// target, else 1.
func outcomeCode(o call.Outcome) int {
	if code := exitCode(o.Err); code != exitOK {
		return code
	}
	return exitError
}

func outcomeText(content []tool.Content) string {
	var parts []string
	for _, c := range content {
		switch c := c.(type) {
		case tool.Text:
			parts = append(parts, c.Text)
		case tool.Image:
			parts = append(parts, fmt.Sprintf("[image %s %d bytes]", c.MIMEType, len(c.Data)))
		}
	}
	return strings.Join(parts, "\n")
}

func (a *app) printOutcome(o call.Outcome) error {
	e := json.NewEncoder(a.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		Content    []any `json:"content"`
		Details    any   `json:"details"`
		IsError    bool  `json:"isError"`
		DurationMS int64 `json:"durationMs"`
	}{llm.ContentJSON(o.Result.Content), o.Result.Details, o.IsError, o.Duration.Milliseconds()})
}

// toolArguments reads the arguments of a call in one of their three forms.
func (a *app) toolArguments(args []string) (json.RawMessage, error) {
	switch {
	case len(args) == 0:
		return json.RawMessage("{}"), nil
	case len(args) == 1 && args[0] == "-":
		data, err := io.ReadAll(a.Stdin)
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return jsonObject(data)
	case len(args) == 1 && strings.HasPrefix(strings.TrimSpace(args[0]), "{"):
		return jsonObject([]byte(args[0]))
	}
	object := map[string]any{}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("argument %q is neither key=value nor a JSON object", arg)
		}
		if _, twice := object[key]; twice {
			return nil, fmt.Errorf("argument %q is given twice", key)
		}
		object[key] = value
		// Lists and objects are written as JSON; everything else is text.
		if t := strings.TrimSpace(value); key == "edits" && (strings.HasPrefix(t, "[") || strings.HasPrefix(t, "{")) && json.Valid([]byte(t)) {
			object[key] = json.RawMessage(t)
		}
	}
	return json.Marshal(object)
}

func jsonObject(data []byte) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	if object == nil {
		return nil, errors.New("the arguments are null: give a JSON object")
	}
	return data, nil
}

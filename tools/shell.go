package tools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/tool"
)

// ShellParams are the arguments of bash and powershell.
type ShellParams struct {
	Command string   `json:"command" jsonschema:"The command to run"`
	Timeout *float64 `json:"timeout,omitempty" jsonschema:"Seconds after which the command and everything it started is ended; fractions are allowed"`
}

// ShellDetails describes how a command ended.
type ShellDetails struct {
	Shell      string   `json:"shell,omitempty"`
	Dir        string   `json:"dir"`
	ExitCode   *int     `json:"exitCode"` // null if there is none
	Signal     string   `json:"signal,omitempty"`
	TimedOut   bool     `json:"timedOut,omitempty"`
	Aborted    bool     `json:"aborted,omitempty"`
	Background bool     `json:"background,omitempty"`
	Killed     int      `json:"killed,omitempty"`
	Survivors  []string `json:"survivors,omitempty"`
	Unverified string   `json:"unverified,omitempty"`
	Limits     []string `json:"limits,omitempty"` // that processes ran into
	TotalLines int64    `json:"totalLines"`
	TotalBytes int64    `json:"totalBytes"`
	Truncated  bool     `json:"truncated,omitempty"`
	FullOutput string   `json:"fullOutput,omitempty"` // path on the target
	DurationMS int64    `json:"durationMs"`
}

// ShellOptions adjusts a shell tool.
type ShellOptions struct {
	// ShellPath is the interpreter on the target; bash only.
	ShellPath string
	// CommandPrefix is put on a line before every command; bash only.
	CommandPrefix string
	// SpawnHook may change what runs. An error stops the call.
	SpawnHook func(Spawn) (Spawn, error)
	// HideSessionEnvironment keeps the PI_* session variables from commands.
	HideSessionEnvironment bool
	// DefaultTimeout applies to calls that name none; zero means none.
	DefaultTimeout time.Duration
	// MaxTimeout is the largest timeout a call may ask for; zero means a day.
	MaxTimeout time.Duration
	// Background says what becomes of processes that outlive their command.
	Background ops.Background
	// NoSpill keeps no file with the full output.
	NoSpill bool
	// SpillLimit bounds that file in bytes; zero means ops.DefaultSpillLimit.
	SpillLimit int64
}

// Spawn is a command that is about to run.
type Spawn struct {
	Command string
	Dir     string
	Env     map[string]string
}

// dialect is what differs between the shell tools.
type dialect struct {
	name, label, description string
	kind                     ops.ShellKind
	prompt                   tool.Prompt
}

type shellTool struct {
	workspace
	exec    ops.BashOperations
	options ShellOptions
	dialect dialect
	told    *atomic.Bool // the model knows that there is no bash
}

func newShell(w workspace, exec ops.BashOperations, o ShellOptions, d dialect) (tool.Tool, error) {
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = 24 * time.Hour
	}
	t := shellTool{w, exec, o, d, &atomic.Bool{}}
	return schema.Define(schema.Spec[ShellParams]{
		Name: d.name, Label: d.label, Description: d.description, Prompt: d.prompt,
		Access:  tool.AccessShell,
		Execute: t.execute,
	})
}

func (t shellTool) execute(ctx context.Context, call tool.Call, p ShellParams, update tool.Update) (tool.Result, error) {
	cmd, err := t.command(call, p)
	if err != nil {
		return tool.Result{}, err
	}
	start := time.Now()
	out := newShellOutput(update)
	exit, err := t.exec.Exec(ctx, cmd, out.chunk)
	snap := out.finish()

	details := ShellDetails{
		Shell: exit.Shell, Dir: cmd.Dir, Signal: exit.Signal, TimedOut: exit.TimedOut, Background: exit.Background,
		Killed: exit.Killed, Survivors: exit.Survivors, Unverified: exit.Unverified, Limits: exit.Limits,
		TotalLines: snap.TotalLines, TotalBytes: snap.TotalBytes, Truncated: snap.Truncated,
		DurationMS: time.Since(start).Milliseconds(),
	}
	effect := tool.Effect{Workspace: t.set.Target.Label, Operation: "exec", Command: cmd.Script}
	if exit.TimedOut || err != nil {
		effect.Kill = &tool.KillReport{Killed: exit.Killed, Survivors: exit.Survivors}
	} else {
		effect.ExitCode, details.ExitCode = &exit.Code, &exit.Code
	}
	if snap.Truncated {
		details.FullOutput = exit.SpillPath
	}
	details.Aborted = err != nil && ctx.Err() != nil
	result := tool.Result{Details: details, Effects: []tool.Effect{effect}}

	text := outputText(snap, exit, t.options.Background, t.otherShell(exit))
	if status := t.status(ctx, cmd, exit, err); status != nil {
		if snap.TotalBytes == 0 && err != nil && ctx.Err() == nil {
			return result, status
		}
		return result, &failure{text: text + "\n\n" + status.Error(), err: status}
	}
	result.Content = []tool.Content{tool.Text{Text: text}}
	return result, nil
}

// command turns the arguments into what will run.
func (t shellTool) command(call tool.Call, p ShellParams) (ops.Command, error) {
	timeout, err := t.timeout(p.Timeout)
	if err != nil {
		return ops.Command{}, err
	}
	if strings.ContainsRune(p.Command, 0) {
		return ops.Command{}, errors.New("the command contains a NUL byte, which no shell accepts")
	}
	spawn := Spawn{Command: p.Command, Dir: t.dir(call.Scope), Env: t.environment(call.Scope)}
	if t.options.CommandPrefix != "" {
		spawn.Command = t.options.CommandPrefix + "\n" + spawn.Command
	}
	if t.options.SpawnHook != nil {
		if spawn, err = t.options.SpawnHook(spawn); err != nil {
			return ops.Command{}, fmt.Errorf("spawn hook: %w", err)
		}
	}
	return ops.Command{
		Script:  spawn.Command,
		Shell:   ops.Shell{Kind: t.dialect.kind, Path: t.options.ShellPath},
		Dir:     spawn.Dir,
		Env:     spawn.Env,
		Timeout: timeout,
		Spill:   !t.options.NoSpill, SpillLimit: t.options.SpillLimit,
		Background: t.options.Background,
	}, nil
}

// timeout checks the seconds of a call (hazard BASH-07).
func (t shellTool) timeout(seconds *float64) (time.Duration, error) {
	if seconds == nil {
		return t.options.DefaultTimeout, nil
	}
	limit := t.options.MaxTimeout.Seconds()
	if s := *seconds; math.IsNaN(s) || math.IsInf(s, 0) || s <= 0 || s > limit {
		return 0, fmt.Errorf("timeout %v is out of range: give seconds, more than 0 and at most %v", s, limit)
	}
	return max(time.Duration(*seconds*float64(time.Second)), time.Millisecond), nil
}

// environment is what commands see besides the target's own variables: guards
// against programs that wait for a person (hazard BASH-04), and the session's
// variables.
func (t shellTool) environment(scope tool.Scope) map[string]string {
	env := map[string]string{
		"GIT_TERMINAL_PROMPT": "0",
		"GIT_PAGER":           "cat",
		"GIT_EDITOR":          "true",
		"PAGER":               "cat",
		"DEBIAN_FRONTEND":     "noninteractive",
		"SSH_ASKPASS_REQUIRE": "never",
	}
	if !t.options.HideSessionEnvironment {
		maps.Copy(env, scope.SessionEnv)
	}
	return env
}

// status is the error of a command that did not simply succeed.
func (t shellTool) status(ctx context.Context, cmd ops.Command, exit ops.Exit, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return &failure{text: "Command aborted" + killText(exit), err: context.Cause(ctx)}
	case ops.KindOf(err) == ops.KindNoStatus || ops.KindOf(err) == ops.KindOutcomeUnknown:
		return err // the command ran, and the sentence says what is not known of it
	case err != nil:
		return t.fileError("run in", cmd.Dir, err)
	case exit.TimedOut:
		return fmt.Errorf("Command timed out after %v seconds%s%s", cmd.Timeout.Seconds(), killText(exit), limitText(exit)) //nolint:staticcheck // the sentence that the specification fixes
	case exit.Code != 0 && exit.Signal != "":
		return fmt.Errorf("Command exited with code %d (signal %s)%s", exit.Code, exit.Signal, limitText(exit)) //nolint:staticcheck // as above
	case exit.Code != 0:
		return fmt.Errorf("Command exited with code %d%s", exit.Code, limitText(exit)) //nolint:staticcheck // as above
	case len(exit.Limits) > 0: // something of it failed, whatever the command made of that
		return fmt.Errorf("Command exited with code 0%s", limitText(exit)) //nolint:staticcheck // as above
	}
	return nil
}

// otherShell names the shell that ran instead of bash, the first time that one
// did and unless it was chosen.
func (t shellTool) otherShell(exit ops.Exit) string {
	base := path.Base(exit.Shell)
	if exit.Shell == "" || base == "bash" || t.dialect.kind != ops.ShellPOSIX || t.options.ShellPath != "" || t.told.Swap(true) {
		return ""
	}
	return exit.Shell
}

func limitText(exit ops.Exit) string {
	if len(exit.Limits) == 0 {
		return ""
	}
	return "; " + strings.Join(exit.Limits, "; ")
}

func killText(exit ops.Exit) string {
	switch {
	case len(exit.Survivors) > 0:
		return fmt.Sprintf("; still running: %s", strings.Join(exit.Survivors, ", "))
	case exit.Unverified != "":
		return "; it may have left processes running: " + exit.Unverified
	}
	return ""
}

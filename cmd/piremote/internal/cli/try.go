package cli

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/agent/llm/scripted"
	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/cmd/piremote/internal/printer"
	"github.com/piremote/piremote/cmd/piremote/internal/sample"
	"github.com/piremote/piremote/cmd/piremote/internal/sshserver"
	"github.com/piremote/piremote/cmd/piremote/internal/wire"
	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

//go:embed try.yaml
var tryScript []byte

func (a *app) tryCommand() *cobra.Command {
	backend, seed := "ssh", uint64(0)
	cmd := &cobra.Command{
		Use:   "try",
		Short: "Watch an agent find and fix a bug, on a sample project and without a model",
		Long: "try makes a small project with a bug, connects to it, and lets the agent find and fix the bug; the answers come\n" +
			"from a script instead of a model. With --backend ssh (the default) the project lies behind an SSH server that try\n" +
			"starts on loopback; with docker it lies in the running container that -w names. It exits 0 only if the project's\n" +
			"own test failed before and passes at the end.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("seed") {
				seed = rand.Uint64() >> 32 //nolint:gosec // it names a sample project
			}
			return a.try(cmd.Context(), backend, seed)
		},
	}
	cmd.Flags().StringVar(&backend, "backend", backend, "where the project lies: ssh, docker or local")
	cmd.Flags().Uint64Var(&seed, "seed", 0, "decides where the bug is (default: random)")
	return cmd
}

func (a *app) try(ctx context.Context, backend string, seed uint64) (err error) {
	if !slices.Contains([]string{"ssh", "docker", "local"}, backend) {
		return &usageError{fmt.Errorf("--backend %s is none of ssh, docker, local", backend)}
	}
	names, err := a.selectTools([]string{"read", "bash", "edit", "write", "grep"}, tools.Names())
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "piremote-try-")
	if err != nil {
		return err
	}
	defer func() { err = closing(err, os.RemoveAll(folder)) }()
	project := sample.New(seed)
	cfg, err := config.Load(config.Options{File: os.DevNull, Getenv: func(string) string { return "" }})
	if err != nil {
		return err
	}
	a.say("Seed %d. A sample project with a bug, %s.\n", seed, tryPlace(backend))

	described, stop, err := a.tryTarget(backend, folder, project) //nolint:contextcheck // a lifetime of its own, not that of the call
	if err != nil {
		return err
	}
	defer func() { err = closing(err, stop()) }()
	ws, err := wire.Open(ctx, wire.Options{Workspace: described, Config: cfg, Env: a.tryEnv(backend, folder)})
	if err != nil {
		return err
	}
	defer func() { err = closing(err, ws.Close()) }()
	if backend == "docker" {
		remove, err := a.putInContainer(ctx, ws, project)
		if err != nil {
			return err
		}
		defer remove()
		dir := path.Join(ws.Set.Target.Dir, containerFolder)
		if ws.Set, err = ws.Set.At(dir, dir); err != nil {
			return err
		}
	}
	a.say("Connected to %s.\n", ws.Set.Target.Label)
	return a.tryRun(ctx, cfg, described, ws, names, project)
}

func tryPlace(backend string) string {
	return map[string]string{
		"ssh": "behind an SSH server on this machine", "docker": "in a container", "local": "in a folder of this machine",
	}[backend]
}

func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Stdout, format, args...)
}

// tryRun runs the project's test, the agent, and the test again.
func (a *app) tryRun(ctx context.Context, cfg *config.Config, described config.Workspace, ws *wire.Workspace, names []string, project sample.Project) (err error) {
	w, err := a.workplace(ctx, cfg, described, ws, names)
	if err != nil {
		return err
	}
	before, err := a.projectTest(ctx, ws.Set, project, "before")
	if err != nil {
		return err
	}
	script, err := scripted.Parse("try", tryScript)
	if err != nil {
		return err
	}
	s, err := a.newSession(w, wire.Model{Provider: script.Provider(map[string]string{"test": project.Test})}, session.Options{})
	if err != nil {
		return err
	}
	defer func() { err = closing(err, s.Close(context.WithoutCancel(ctx))) }()
	s.Subscribe(printer.NewText(a.Stdout).Listen)
	prompt := "The test of this project fails. Find the bug and fix it."
	a.say("\nPrompt: %s\n", prompt)
	summary, err := s.Prompt(ctx, session.Input{Text: prompt})
	if err != nil {
		return err
	}
	after, err := a.projectTest(ctx, ws.Set, project, "after")
	if err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case before:
		return errors.New("the project's test passed before anything was mended: the sample is broken")
	case !after && summary.Err != nil:
		return &codeError{exitError, fmt.Errorf("the bug is not mended: %w", summary.Err)}
	case !after:
		return &codeError{exitError, errors.New("the bug is not mended: the project's test still fails")}
	}
	a.say("\nThe test failed before and passes now.\n")
	return nil
}

// projectTest runs the project's own test on the workspace, outside the agent's
// control, and reports whether it passes.
func (a *app) projectTest(ctx context.Context, set ops.Set, project sample.Project, when string) (bool, error) {
	var out strings.Builder
	exit, err := set.Bash.Exec(ctx, ops.Command{Script: project.Test, Dir: set.Target.Dir, Timeout: time.Minute}, func(c ops.Chunk) {
		out.Write(c.Data)
	})
	if err != nil {
		return false, err
	}
	lines := strings.Split(strings.TrimSpace(textout.Clean(out.String())), "\n")
	a.say("\nThe project's own test, %s (exit code %d):\n  %s\n", when, exit.Code, strings.Join(lines, "\n  "))
	return exit.Code == 0, nil
}

// tryTarget puts the project where the backend reaches it, and describes the way.
func (a *app) tryTarget(backend, folder string, project sample.Project) (config.Workspace, func() error, error) {
	nothing := func() error { return nil }
	if backend == "docker" {
		w, err := wire.Parse(a.flags.workspace, nil)
		if err != nil || w.Backend != "docker" {
			return w, nothing, &usageError{errors.New("--backend docker needs a running container: give -w docker://CONTAINER")}
		}
		return w, nothing, nil
	}
	dir := filepath.Join(folder, "project")
	for name, content := range project.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return config.Workspace{}, nothing, err
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return config.Workspace{}, nothing, err
		}
	}
	if backend == "local" {
		return config.Workspace{Backend: "local", Path: dir}, nothing, nil
	}
	server, err := sshserver.Start(folder)
	if err != nil {
		return config.Workspace{}, nothing, err
	}
	return config.Workspace{Backend: "ssh", Host: server.Host, Port: server.Port, User: server.User, Path: dir}, server.Close, nil
}

// tryEnv is the environment in which the client of the embedded server runs: it
// sees that server's keys and nothing of the user's.
func (a *app) tryEnv(backend, folder string) []string {
	if backend != "ssh" {
		return a.Env
	}
	return append(slices.DeleteFunc(slices.Clone(a.Env), func(entry string) bool {
		return strings.HasPrefix(entry, "HOME=") || strings.HasPrefix(entry, "SSH_AUTH_SOCK=")
	}), "HOME="+folder)
}

// containerFolder is where the sample lies in a container's working folder.
const containerFolder = "piremote-try"

// putInContainer writes the project through the workspace itself.
func (a *app) putInContainer(ctx context.Context, ws *wire.Workspace, project sample.Project) (remove func(), err error) {
	executor, err := a.workplace(ctx, &config.Config{}, config.Workspace{}, ws, []string{"write", "bash"})
	if err != nil {
		return nil, err
	}
	do := func(ctx context.Context, name string, args map[string]string) error {
		raw, err := json.Marshal(args)
		if err != nil {
			return err
		}
		outcome := executor.executor.Do(ctx, call.Request{ID: "setup", Name: name, Args: raw}, nil)
		if outcome.IsError {
			return fmt.Errorf("the sample can't be put there: %s", tool.TextOf(outcome.Result.Content))
		}
		return nil
	}
	for name, content := range project.Files {
		if err := do(ctx, "write", map[string]string{"path": path.Join(containerFolder, name), "content": content}); err != nil {
			return nil, err
		}
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := do(ctx, "bash", map[string]string{"command": "rm -rf " + containerFolder}); err != nil {
			_, _ = io.WriteString(a.Stderr, "piremote: "+err.Error()+"\n")
		}
	}, nil
}

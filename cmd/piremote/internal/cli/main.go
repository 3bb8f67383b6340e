package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools/textout"
)

// Process is what the operating system gave.
type Process struct {
	Args   []string
	Stdin  *os.File
	Stdout io.Writer
	Stderr io.Writer
	Env    []string
}

// getenv reads a variable; the last of several wins, as in a shell.
func (p Process) getenv(name string) string {
	value := ""
	for _, entry := range p.Env {
		if n, v, ok := strings.Cut(entry, "="); ok && n == name {
			value = v
		}
	}
	return value
}

// app is one invocation.
type app struct {
	Process
	flags flags
}

// Main runs the command line and returns the exit code.
func Main(p Process) int {
	ctx, stop := interruptible()
	defer stop()
	a := &app{Process: p}
	err := a.command().ExecuteContext(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errInterrupted) {
		err = &codeError{exitInterrupted, errors.New("interrupted")}
	}
	if err != nil && err.Error() != "" {
		_, _ = fmt.Fprintf(p.Stderr, "piremote: %s\n", textout.Clean(strings.TrimRight(err.Error(), "\n")))
	}
	return exitCode(err)
}

// interruptible returns a context that the first interrupt ends; a second one
// ends the process as usual.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, ok := <-signals; ok {
			signal.Stop(signals)
			cancel(errInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		<-done
		cancel(nil)
	}
}

// flags are the flags that several commands share.
type flags struct {
	workspace    string
	configFile   string
	helper       string
	confine      string
	extraRoots   []string
	model        string
	mode         string
	print        bool
	tools        []string
	excludeTools []string
	noTools      bool
	maxTurns     int
	maxCost      float64
	timeout      string
	remoteOnly   bool
	sandbox      sandboxFlags
	session      sessionFlags
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "piremote [flags] [prompt...]",
		Short: "A coding agent whose mind stays home and whose hands are anywhere",
		Long: "piremote runs a coding agent here and lets it work in a workspace: a local folder, a folder on an SSH host,\n" +
			"a folder in a container, or a fresh container made for it. Model keys, conversation and policy never leave this machine.",
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), args) },
	}
	root.SetArgs(a.Args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	f := root.PersistentFlags()
	f.StringVarP(&a.flags.workspace, "workspace", "w", "", "where effects happen: a folder, ssh://[user@]host[:port]/path, [user@]host:path, docker://container/path, sandbox://image:tag/path (the image ends with the last part that holds : or @, else with the first), or a configured name")
	f.StringVar(&a.flags.configFile, "config", "", "configuration file (default: $XDG_CONFIG_HOME/piremote/config.yaml)")
	f.StringVar(&a.flags.helper, "helper", "", "the program that does the work on hosts and in containers: auto, require or never")
	f.StringVar(&a.flags.confine, "confine", "", "how file tools are kept inside the workspace: on, strict (no changes where a program that swaps folders could lead them out) or off")
	f.StringSliceVar(&a.flags.extraRoots, "extra-root", nil, "a further folder on the target that file tools may reach: /path, or /path:ro to read only")
	f.BoolVar(&a.flags.remoteOnly, "remote-only", false, "refuse any effect on this machine")
	f.StringSliceVar(&a.flags.tools, "tools", nil, "active tools (default: read,bash,edit,write)")
	f.StringSliceVar(&a.flags.excludeTools, "exclude-tools", nil, "tools to leave out")
	f.BoolVar(&a.flags.noTools, "no-tools", false, "no tools at all")
	a.flags.sandbox.add(f)
	r := root.Flags()
	r.BoolVarP(&a.flags.print, "print", "p", false, "print the answer and exit")
	r.StringVar(&a.flags.mode, "mode", "text", "output: text, json, or rpc to be driven by commands on standard input")
	a.flags.session.add(r)
	r.StringVar(&a.flags.model, "model", "", "provider/id[:thinking], or scripted:FILE")
	r.IntVar(&a.flags.maxTurns, "max-turns", 0, "end the run after that many turns")
	r.Float64Var(&a.flags.maxCost, "max-cost", 0, "end the run at that cost in US dollars")
	r.StringVar(&a.flags.timeout, "timeout", "", "end the run after that time, such as 10m")

	root.AddCommand(a.toolCommand(), a.tryCommand(), a.doctorCommand(), a.gcCommand(), a.diffCommand(), a.applyCommand())
	root.AddCommand(a.sessionsCommand(), a.modelsCommand(), a.versionCommand())
	return root
}

// config loads the configuration with the flags on top.
func (a *app) config() (*config.Config, error) {
	overrides := map[string]any{}
	set := func(key string, given bool, value any) {
		if given {
			overrides[key] = value
		}
	}
	set("workspace", a.flags.workspace != "", a.flags.workspace)
	set("helper.policy", a.flags.helper != "", a.flags.helper)
	set("confine", a.flags.confine != "", a.flags.confine)
	set("extra_roots", len(a.flags.extraRoots) > 0, a.flags.extraRoots)
	set("model", a.flags.model != "", a.flags.model)
	set("tools", len(a.flags.tools) > 0, a.flags.tools)
	set("limits.turns", a.flags.maxTurns > 0, a.flags.maxTurns)
	set("limits.cost", a.flags.maxCost > 0, a.flags.maxCost)
	set("limits.time", a.flags.timeout != "", a.flags.timeout)
	return config.Load(config.Options{File: a.flags.configFile, Getenv: a.getenv, Flags: overrides})
}

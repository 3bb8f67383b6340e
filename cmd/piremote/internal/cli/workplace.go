package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/cmd/piremote/internal/wire"
	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// workplace is an open workspace with the tools on it.
type workplace struct {
	id        string
	config    *config.Config
	described config.Workspace
	workspace *wire.Workspace
	client    *wire.Workspace // for tools that run on this machine; nil if there are none
	tools     []tool.Tool
	files     *tools.Memory // that were seen
	executor  *call.Executor
}

// open connects to the workspace and makes the named tools; nil means those of
// the configuration, or the default set.
func (a *app) open(ctx context.Context, names []string) (*workplace, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	if names == nil {
		names = cfg.Tools
		if len(names) == 0 {
			names = tools.DefaultNames()
			for _, t := range cfg.ScriptTools {
				names = append(names, t.Name)
			}
		}
	}
	if names, err = a.selectTools(names, toolNames(cfg)); err != nil {
		return nil, err
	}
	described, err := a.described(cfg)
	if err != nil {
		return nil, err
	}
	if a.flags.remoteOnly && (described.Backend == "local" || described.Backend == "sandbox" && !described.Sandbox.Copy) {
		return nil, &usageError{errors.New("--remote-only needs a remote workspace: give -w ssh://host/path, docker://container/path, or sandbox://image with --copy")}
	}
	if a.flags.remoteOnly {
		if err := remoteScripts(cfg, names); err != nil {
			return nil, err
		}
	}
	ws, err := wire.Open(ctx, wire.Options{
		Workspace: described, Config: cfg, Tools: needed(cfg, names), Env: a.Env,
		Notice: a.notice,
	})
	if err != nil {
		return nil, err
	}
	s, err := a.workplace(ctx, cfg, described, ws, names)
	if err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	return s, nil
}

// described is the workspace that the configuration and the flags tell of.
func (a *app) described(cfg *config.Config) (config.Workspace, error) {
	w, err := wire.Parse(cfg.Workspace, cfg.Workspaces)
	if err != nil {
		return w, err
	}
	return a.flags.sandbox.put(w)
}

// workplace makes the named tools on an open workspace.
func (a *app) workplace(ctx context.Context, cfg *config.Config, described config.Workspace, ws *wire.Workspace, names []string) (*workplace, error) {
	o := toolOptions(cfg)
	o.Memory = tools.NewMemory()
	builtIn := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(tools.Names(), n) })
	list, err := tools.New(ws.Set, builtIn, o)
	if err != nil {
		return nil, err
	}
	scripts, client, err := a.scripts(ctx, cfg, ws.Set, names)
	if err != nil {
		return nil, err
	}
	s := &workplace{id: rand.Text(), config: cfg, described: described, workspace: ws, client: client, tools: append(list, scripts...), files: o.Memory}
	s.executor = call.New(call.Options{Tools: s.active, Scope: s.scope})
	return s, nil
}

// close gives up what the tools work on.
func (s *workplace) close() error {
	err := s.workspace.Close()
	if s.client != nil {
		err = errors.Join(err, s.client.Close())
	}
	return err
}

func (s *workplace) active() []tool.Tool { return s.tools }

func (s *workplace) scope() tool.Scope {
	return tool.Scope{
		Dir: s.workspace.Set.Target.Dir, Root: s.workspace.Set.Target.Root, SessionID: s.id,
		SessionEnv: map[string]string{"PI_SESSION_ID": s.id},
	}
}

func toolOptions(cfg *config.Config) tools.Options {
	shell := tools.ShellOptions{
		HideSessionEnvironment: !cfg.Shell.SessionEnv, DefaultTimeout: cfg.Shell.Timeout, MaxTimeout: cfg.Shell.MaxTimeout,
		Background: ops.Background(cfg.Shell.Background), NoSpill: !cfg.Shell.Spill,
	}
	o := tools.Options{Bash: shell, PowerShell: shell, Strict: cfg.Freshness == "strict"}
	o.Bash.ShellPath, o.Bash.CommandPrefix = cfg.Shell.Path, cfg.Shell.Prefix
	return o
}

// selectTools applies --no-tools and --exclude-tools. Unknown names are faults
// of usage.
func (a *app) selectTools(names, known []string) ([]string, error) {
	for _, n := range slices.Concat(names, a.flags.excludeTools) {
		if !slices.Contains(known, n) {
			return nil, &usageError{fmt.Errorf("unknown tool %q: the tools are %v", n, known)}
		}
	}
	if a.flags.noTools {
		return []string{}, nil
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(a.flags.excludeTools, n) }), nil
}

// notice tells the user something that is no failure.
func (a *app) notice(text string) { _, _ = fmt.Fprintf(a.Stderr, "piremote: %s\n", text) }

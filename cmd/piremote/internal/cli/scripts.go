package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/piremote/piremote/cmd/piremote/internal/wire"
	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// toolNames lists the tools that can be had: the built-in ones and those of the
// configuration.
func toolNames(cfg *config.Config) []string {
	names := tools.Names()
	for _, t := range cfg.ScriptTools {
		names = append(names, t.Name)
	}
	return names
}

// needed are the built-in tools whose abilities the named ones rest on.
func needed(cfg *config.Config, names []string) []string {
	for _, t := range cfg.ScriptTools {
		if slices.Contains(names, t.Name) {
			return append(slices.Clone(names), "bash")
		}
	}
	return names
}

// remoteScripts refuses named tools that run on this machine.
func remoteScripts(cfg *config.Config, names []string) error {
	for _, t := range cfg.ScriptTools {
		if t.Where == "client" && slices.Contains(names, t.Name) {
			return &usageError{fmt.Errorf("the script tool %s runs on this machine, which --remote-only refuses: leave it out with --exclude-tools %s", t.Name, t.Name)}
		}
	}
	return nil
}

// scripts makes the named tools of the configuration. Those of the client run in the
// current folder of this machine, for which a workspace of its own is opened; it is
// returned, or nil.
func (a *app) scripts(ctx context.Context, cfg *config.Config, set ops.Set, names []string) (list []tool.Tool, client *wire.Workspace, err error) {
	defer func() {
		if err != nil && client != nil {
			err = errors.Join(err, client.Close())
		}
	}()
	for _, t := range cfg.ScriptTools {
		if !slices.Contains(names, t.Name) {
			continue
		}
		if slices.Contains(tools.Names(), t.Name) {
			return nil, client, &config.Error{Key: "script_tools", Msg: fmt.Sprintf("%q is the name of a built-in tool: choose another", t.Name)}
		}
		where := set
		if t.Where == "client" {
			if client == nil {
				if client, err = wire.Open(ctx, wire.Options{Workspace: config.Workspace{Backend: "local", Path: "."}, Config: cfg, Tools: []string{"bash"}, Env: a.Env, Notice: a.notice}); err != nil {
					return nil, nil, err
				}
			}
			where = client.Set
		}
		made, err := tools.NewScript(where, tools.ScriptSpec{
			Name: t.Name, Description: t.Description, Parameters: json.RawMessage(t.Parameters), Command: t.Command, Timeout: t.Timeout,
		})
		if err != nil {
			return nil, client, &config.Error{Key: "script_tools", Msg: err.Error()}
		}
		if t.Where == "client" {
			made = elsewhere{made, where.Target.Dir}
		}
		list = append(list, made)
	}
	return list, client, nil
}

// elsewhere is a tool that runs in a folder of its own, wherever the session works.
type elsewhere struct {
	tool.Tool
	dir string
}

func (e elsewhere) Execute(ctx context.Context, call tool.Call, update tool.Update) (tool.Result, error) {
	call.Scope.Dir, call.Scope.Root = e.dir, ""
	return e.Tool.Execute(ctx, call, update)
}

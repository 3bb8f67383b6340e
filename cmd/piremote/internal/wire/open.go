package wire

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/piremote/piremote/backends/docker"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/backends/helper/remote"
	"github.com/piremote/piremote/backends/local"
	"github.com/piremote/piremote/backends/ssh"
	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools/ops"
)

// Options says which workspace to open.
type Options struct {
	Workspace config.Workspace
	Config    *config.Config
	// Tools are the names of those that will be used; nil means any.
	Tools []string
	// Env is the environment of this process; commands on this machine inherit
	// it but for secrets, remote ones get nothing of it.
	Env []string
	// Notice receives warnings, a sentence each; nil drops them.
	Notice func(string)
}

// Workspace is a handle of an open workspace; see Share. It is safe for concurrent use.
type Workspace struct {
	Set ops.Set
	// Remote is the workspace behind a helper; nil where none is used.
	Remote *remote.Workspace
	// Sandbox says what the sandbox is that was made for this workspace; nil for others.
	Sandbox *docker.SandboxReport

	handles *handles
	close   func() error
}

// Close gives the handle up. The last one ends what runs in the background there and
// the connection.
func (w *Workspace) Close() error { return w.close() }

// Open connects to a workspace. What can't be reached is a *ops.TransportError.
func Open(ctx context.Context, o Options) (*Workspace, error) {
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.confine() == confineOff {
		o.Notice("Confinement is off: file tools reach everything that the account can reach.")
	}
	switch w := o.Workspace; w.Backend {
	case "ssh":
		opened, err := ssh.Open(ctx, sshOptions(o))
		if err != nil {
			return nil, err
		}
		return (&Workspace{Set: opened.Set(), Remote: opened.Remote()}).owned(opened.Close), nil //nolint:contextcheck // At has a time of its own
	case "docker":
		options, done := dockerOptions(o)
		opened, err := docker.Open(ctx, options)
		if err != nil {
			done()
			return nil, err
		}
		return (&Workspace{Set: opened.Set(), Remote: opened.Remote()}).owned(before(done, opened.Close)), nil
	case "sandbox":
		return openSandbox(ctx, o)
	case "local":
		return openLocal(ctx, o)
	default:
		return nil, fmt.Errorf("workspace %s: backend %q is none of local, ssh, docker, sandbox", w.Name, w.Backend)
	}
}

// before closes something, and then what it rests on.
func before(then func(), end func() error) func() error {
	return func() error { defer then(); return end() }
}

func openLocal(ctx context.Context, o Options) (*Workspace, error) {
	home := lookup(o.Env, "HOME")
	dir := o.Workspace.Path
	if dir == "~" || strings.HasPrefix(dir, "~/") {
		dir = filepath.Join(home, dir[1:])
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", o.Workspace.Path, err)
	}
	var keys []string
	for _, p := range o.Config.Providers {
		keys = append(keys, p.APIKeyEnv)
	}
	lo := local.Options{
		Dir: dir, Root: o.Workspace.Root, Unconfined: o.confine() == confineOff, ExtraRoots: o.extraRoots(), Home: home, Env: commandEnvironment(o.Env, keys...),
	}
	helpers, err := install.Embedded()
	if err != nil {
		return nil, err
	}
	release := func() error { return nil }
	if program := supervisor(helpers, o); program != nil {
		release = program.Close
		lo.Supervisor, lo.SupervisorArgs = program.Path, []string{helper.Supervise}
		lo.LockDir = filepath.Join(filepath.Dir(lo.Supervisor), helper.Locks)
	}
	opened, err := local.Open(ctx, lo)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return (&Workspace{Set: opened.Set()}).owned(func() error { return errors.Join(opened.Close(), release()) }), nil
}

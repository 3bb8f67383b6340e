package docker

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/piremote/piremote/backends/helper/remote"
	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// Workspace is an open container. Its methods may be called concurrently.
type Workspace struct {
	daemon daemon
	set    ops.Set
	close  func(ctx context.Context) error
	helper *remote.Workspace // nil in the agentless mode
}

// Open pins a running container and its folder. What is not there or does not
// run is a *ops.TransportError of KindUnavailable that names it; a container
// without a shell is one of KindNoShell.
func Open(ctx context.Context, o Options) (*Workspace, error) {
	r, s, err := reach(ctx, o)
	if err != nil {
		if r != nil {
			_ = r.daemon.Close() // the reason counts
		}
		return nil, err
	}
	w, err := open(ctx, o, r, s)
	if err != nil {
		_ = r.daemon.Close() // the reason counts
		return nil, err
	}
	return w, nil
}

// reach finds the daemon and the container. A runner beside an error has
// a client of the daemon, to be closed.
func reach(ctx context.Context, o Options) (*runner, state, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Container == "" {
		return nil, state{}, refuse(endpoint{}, "no container is named: write docker://CONTAINER/path")
	}
	r, err := newRunner(o, o.Container)
	if err != nil {
		return nil, state{}, err
	}
	if err := r.open(ctx); err != nil {
		return r, state{}, err
	}
	s, err := r.find(ctx, o.Container)
	return r, s, err
}

// newRunner prepares a client of the daemon for a container that is not known yet.
func newRunner(o Options, name string) (*runner, error) {
	e, err := resolveEndpoint(o)
	if err != nil {
		return nil, err
	}
	d, err := connect(e)
	if err != nil {
		return nil, refuse(e, "the Docker endpoint %s is not usable: %v", e, err)
	}
	return &runner{
		daemon: d, user: o.User, env: o.Env, timeout: o.Timeout, notice: o.Notice,
		target: target{endpoint: e, name: name, label: "docker://" + name},
	}, nil
}

func open(ctx context.Context, o Options, r *runner, s state) (*Workspace, error) {
	dir := o.Dir
	if dir == "" {
		dir = s.Dir
	}
	if dir == "" {
		dir = "/"
	}
	if !path.IsAbs(dir) {
		return nil, refuse(r.target.endpoint, "the folder %q of container %s is not absolute: write docker://%s/path", dir, s.Name, s.Name)
	}
	root := o.Root
	if root == "" {
		root = dir
	}
	w, err := openHelper(ctx, o, r, s, dir, root)
	if w != nil || err != nil {
		return w, err
	}
	r.target.label = "docker://" + s.Name + strings.TrimSuffix(dir, "/")
	po := posix.Options{Runner: r, Dir: dir, Root: root, ExtraRoots: o.ExtraRoots, Label: r.target.label, Backend: "docker", Shell: o.ShellPath}
	engine, err := posix.New(ctx, po)
	if kind := ops.KindOf(err); kind == ops.KindNoStatus || kind == ops.KindProtocol || kind == ops.KindNoShell {
		// Something on the way may close all when the input ends (hazard
		// DKX-04); how that looks depends on how far the process was.
		r.keepInput.Store(true)
		var again error
		if engine, again = posix.New(ctx, po); again == nil {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &Workspace{daemon: r.daemon, set: engine.Set(), close: engine.Close}, nil //nolint:contextcheck // Set.At outlives ctx
}

// Set returns the operations on the container.
func (w *Workspace) Set() ops.Set { return w.set }

// closeTimeout bounds the ending of background processes.
const closeTimeout = 10 * time.Second

// Close ends background processes of finished commands, removes spill files and
// closes the connection. The container itself goes on.
func (w *Workspace) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return errors.Join(w.close(ctx), w.daemon.Close())
}

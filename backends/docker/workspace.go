package docker

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// Open pins a running container and its folder. What is not there or does not
// run is a *ops.TransportError of KindUnavailable that names it.
func Open(ctx context.Context, o Options) (*Workspace, error) {
	if o.Timeout <= 0 {
		o.Timeout = 15 * time.Second
	}
	if o.Container == "" {
		return nil, refuse(endpoint{}, "no container is named: write docker://CONTAINER/path")
	}
	e, err := resolveEndpoint(o)
	if err != nil {
		return nil, err
	}
	d, err := connect(e)
	if err != nil {
		return nil, refuse(e, "the Docker endpoint %s (%s) is not usable: %v", e.Host, e.Source, err)
	}
	w, err := open(ctx, o, e, d)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return w, nil
}

func open(ctx context.Context, o Options, e endpoint, d daemon) (*Workspace, error) {
	r := &runner{
		daemon: d, user: o.User, env: o.Env, timeout: o.Timeout,
		target: target{endpoint: e, id: o.Container, name: o.Container, label: "docker://" + o.Container},
	}
	s, err := r.look(ctx)
	if err != nil {
		return nil, err
	}
	r.target.id, r.target.name = s.ID, s.Name
	if err := r.stopped(s); err != nil {
		return nil, err
	}
	dir := o.Dir
	if dir == "" {
		dir = s.Dir
	}
	if dir == "" {
		dir = "/"
	}
	if !path.IsAbs(dir) {
		return nil, refuse(e, "the folder %q of container %s is not absolute: write docker://%s/path", dir, s.Name, s.Name)
	}
	root := o.Root
	if root == "" {
		root = dir
	}
	r.target.label = "docker://" + s.Name + strings.TrimSuffix(dir, "/")
	engine, err := posix.New(ctx, posix.Options{Runner: r, Dir: dir, Root: root, Label: r.target.label, Backend: "docker"})
	if err != nil {
		return nil, err
	}
	return &Workspace{daemon: d, target: r.target, set: engine.Set(), close: engine.Close}, nil //nolint:contextcheck // a lifetime of its own, not that of the call
}

// look finds the container; an error names the container and the daemon.
func (r *runner) look(ctx context.Context) (state, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	s, err := r.daemon.Inspect(ctx, r.target.id)
	if err != nil {
		return state{}, r.explain(ctx, err, "find the container")
	}
	return s, nil
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

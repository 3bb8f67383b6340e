package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/client"
)

// This file alone knows the client library, so that its successor can take its
// place (hazard DKX-09).

// daemon is what the backend needs of a Docker daemon. Every call ends when its
// ctx does. The errors are classified by notFound and unreachable.
type daemon interface {
	execs
	archives
	containers
	facts
	// Renew gives up the connections that no call uses: they may be dead.
	Renew()
	Close() error
}

// facts are what a daemon tells of itself and of containers.
type facts interface {
	// Inspect describes a container by name or id.
	Inspect(ctx context.Context, name string) (state, error)
	// Version names the daemon's version and that of the API in use.
	Version(ctx context.Context) (daemonVersion, error)
	// Machine says what the daemon runs on, and what it can enforce there.
	Machine(ctx context.Context) (machine, error)
	// Processes counts the processes and threads in a container, and says how many
	// it may have; no limit is 0.
	Processes(ctx context.Context, id string) (n, limit int64, err error)
}

// execs are a daemon's processes in containers.
type execs interface {
	// CreateExec prepares a process in a container.
	CreateExec(ctx context.Context, id string, p process) (exec string, err error)
	// Attach starts a prepared process and returns its streams, which live on
	// when ctx ends.
	Attach(ctx context.Context, exec string) (*stream, error)
	// InspectExec returns how far a process is.
	InspectExec(ctx context.Context, exec string) (execState, error)
}

// archives are a daemon's way to files of a container without a process in it: tar
// archives, not compressed. It knows nothing of what is mounted in the container.
type archives interface {
	// CopyIn unpacks an archive in a folder of a container.
	CopyIn(ctx context.Context, id, dir string, archive io.Reader) error
	// CopyOut returns a file of a container as an archive, to be closed.
	CopyOut(ctx context.Context, id, file string) (io.ReadCloser, error)
}

// images are what containers are made from.
type images interface {
	// Image returns the folders of an image that are volumes of each container; one
	// that is not there is an error that notFound knows.
	Image(ctx context.Context, ref string) (volumes []string, err error)
	// Pull fetches an image and tells of its progress, a line at a time.
	Pull(ctx context.Context, ref string, progress func(string)) error
}

// containers are a daemon's means to make and remove containers.
type containers interface {
	images
	// Create makes a container that does not run yet.
	Create(ctx context.Context, s spec) (id string, err error)
	// Lend makes a container that has the volumes of another one and never runs. Its root
	// file system can be written, and so can all of these by CopyIn.
	Lend(ctx context.Context, s spec, from string) (id string, err error)
	// Start starts a container. What runs in it ends first.
	Start(ctx context.Context, id string) error
	// Remove ends and removes a container, and the volumes that have no name and that no
	// other one uses. One that is being removed is none.
	Remove(ctx context.Context, id string) error
	// List describes the containers that have a label, those that do not run too.
	List(ctx context.Context, label string) ([]listed, error)
}

// spec is a container to be made. What it does not name is as strict as can be.
type spec struct {
	Name, Image string
	Entrypoint  []string
	Env         []string
	Labels      map[string]string
	Network     string
	Memory      int64 // bytes, swap included; 0 means no limit, as below
	CPUs        float64
	Pids        int64
	Tmpfs       map[string]string // options by folder
	Binds       []bind
	Volumes     []string // folders that this container alone has
	Keep        bool     // it stays when it has ended
}

// bind is a folder of the daemon's machine in a container.
type bind struct {
	Source, Target string
	ReadOnly       bool
}

// listed is a container in a list.
type listed struct {
	ID, Name string
	Running  bool
	Created  time.Time
	Labels   map[string]string
}

// machine is that of a daemon, and what can be enforced there.
type machine struct {
	OS, Arch   string // as Go names them
	Processors int

	Memory, Swap, CPU, Pids, Seccomp bool
}

// state describes a container.
type state struct {
	ID      string
	Name    string
	Running bool
	Paused  bool
	OOM     bool
	Status  string // as the daemon spells it
	Code    int    // of the main process, if it has ended
	Dir     string // the image's working folder
	Started string // changes when it is restarted
}

// process is what to run in a container.
type process struct {
	Argv []string
	User string
	Env  []string
}

// execState is how far a process is. A code that the daemon does not give is
// nil: it is not 0 (hazard DKX-02).
type execState struct {
	Running bool
	Code    *int `json:"ExitCode"`
}

// daemonVersion is what a daemon says of itself.
type daemonVersion struct {
	Engine string // such as 20.10.24
	API    string // in use, such as 1.41
	OS     string // of the daemon's machine
	Podman bool   // it is Podman, which speaks Docker's API
}

// library is a daemon by way of the client library.
type library struct {
	*client.Client
	wire       wire
	transport  *http.Transport
	pinned     bool // the version of the API is not negotiated
	negotiated atomic.Bool
}

// connect prepares a client without reaching out.
func connect(e endpoint) (daemon, error) {
	w, err := newWire(e)
	if err != nil {
		return nil, err
	}
	transport := w.transport()
	options := []client.Opt{
		client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}),
		client.WithHost(w.host),
	}
	if w.dial != nil {
		options = append(options, client.WithDialContext(w.dialAny)) // WithHost has set another
	}
	if e.API != "" {
		options = append(options, client.WithVersion(e.API))
	}
	c, err := client.NewClientWithOpts(options...)
	if err != nil {
		return nil, err
	}
	if w.dial == nil {
		w.dial = c.Dialer() // a named pipe
	}
	return &library{Client: c, wire: w, transport: transport, pinned: e.API != ""}, nil
}

// negotiate settles the version of the API before the first request. A failure
// settles nothing (hazard DKX-03).
func (l *library) negotiate(ctx context.Context) error {
	if l.pinned || l.negotiated.Load() {
		return nil
	}
	ping, err := l.Ping(ctx)
	if err != nil {
		return err
	}
	l.NegotiateAPIVersionPing(ping)
	l.negotiated.Store(true)
	return nil
}

// Renew implements daemon.
func (l *library) Renew() { l.transport.CloseIdleConnections() }

// Inspect implements daemon.
func (l *library) Inspect(ctx context.Context, name string) (state, error) {
	if err := l.negotiate(ctx); err != nil {
		return state{}, err
	}
	c, err := l.ContainerInspect(ctx, name)
	if err != nil {
		return state{}, err
	}
	if c.ContainerJSONBase == nil || c.State == nil {
		return state{}, errors.New("the daemon describes the container without its state")
	}
	s := state{
		ID: c.ID, Name: strings.TrimPrefix(c.Name, "/"), Running: c.State.Running, Paused: c.State.Paused, OOM: c.State.OOMKilled,
		Status: c.State.Status, Code: c.State.ExitCode, Started: c.State.StartedAt,
	}
	if c.Config != nil {
		s.Dir = c.Config.WorkingDir
	}
	return s, nil
}

// CreateExec implements daemon.
func (l *library) CreateExec(ctx context.Context, id string, p process) (string, error) {
	if err := l.negotiate(ctx); err != nil {
		return "", err
	}
	r, err := l.ContainerExecCreate(ctx, id, container.ExecOptions{
		Cmd: p.Argv, User: p.User, Env: p.Env, AttachStdin: true, AttachStdout: true, AttachStderr: true,
	})
	return r.ID, err
}

// Attach implements daemon. The library's own call can't be ended while the
// daemon does not answer (hazard DKX-06).
func (l *library) Attach(ctx context.Context, exec string) (*stream, error) {
	if err := l.negotiate(ctx); err != nil {
		return nil, err
	}
	return l.wire.upgrade(ctx, l.path(exec, "start"), strings.NewReader(`{"Detach":false,"Tty":false}`))
}

// InspectExec implements daemon. The library's own call makes 0 of a code that
// is not there.
func (l *library) InspectExec(ctx context.Context, exec string) (execState, error) {
	if err := l.negotiate(ctx); err != nil {
		return execState{}, err
	}
	var s execState
	req, err := l.wire.request(ctx, http.MethodGet, l.path(exec, "json"), nil)
	if err != nil {
		return s, err
	}
	resp, err := l.HTTPClient().Do(req)
	if err != nil {
		return s, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	if resp.StatusCode != http.StatusOK {
		return s, answered(resp)
	}
	return s, json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&s)
}

// CopyIn implements daemon.
func (l *library) CopyIn(ctx context.Context, id, dir string, archive io.Reader) error {
	if err := l.negotiate(ctx); err != nil {
		return err
	}
	return l.CopyToContainer(ctx, id, dir, archive, container.CopyToContainerOptions{})
}

// CopyOut implements daemon.
func (l *library) CopyOut(ctx context.Context, id, file string) (io.ReadCloser, error) {
	if err := l.negotiate(ctx); err != nil {
		return nil, err
	}
	r, _, err := l.CopyFromContainer(ctx, id, file)
	return r, err
}

// Image implements daemon.
func (l *library) Image(ctx context.Context, ref string) ([]string, error) {
	if err := l.negotiate(ctx); err != nil {
		return nil, err
	}
	i, err := l.ImageInspect(ctx, ref)
	if err != nil || i.Config == nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(i.Config.Volumes)), nil
}

// Pull implements daemon. The daemon reports its failures within the progress.
func (l *library) Pull(ctx context.Context, ref string, progress func(string)) error {
	if err := l.negotiate(ctx); err != nil {
		return err
	}
	r, err := l.ImagePull(ctx, ref, image.PullOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	for lines := json.NewDecoder(r); ; {
		var line struct {
			ID, Status string
			Error      string
		}
		switch err := lines.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case line.Error != "":
			return errors.New(line.Error)
		}
		progress(strings.TrimSpace(line.ID + " " + line.Status))
	}
}

// Create implements daemon: no capability, no new privilege, a root file system
// that can't be written, no shared memory, no log, no check of health.
func (l *library) Create(ctx context.Context, s spec) (string, error) {
	if err := l.negotiate(ctx); err != nil {
		return "", err
	}
	host := &container.HostConfig{
		AutoRemove: !s.Keep, ReadonlyRootfs: true, CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges"},
		NetworkMode: container.NetworkMode(s.Network), IpcMode: container.IPCModeNone, LogConfig: container.LogConfig{Type: "none"},
		Tmpfs: s.Tmpfs, Resources: container.Resources{Memory: s.Memory, MemorySwap: s.Memory, NanoCPUs: int64(s.CPUs * 1e9)},
	}
	if s.Pids > 0 {
		host.PidsLimit = &s.Pids
	}
	for _, b := range s.Binds {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: b.Source, Target: b.Target, ReadOnly: b.ReadOnly,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
		})
	}
	for _, v := range s.Volumes {
		host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeVolume, Target: v})
	}
	c, err := l.ContainerCreate(ctx, &container.Config{
		Image: s.Image, Entrypoint: s.Entrypoint, Cmd: []string{}, User: "0:0", Env: s.Env, Labels: s.Labels, WorkingDir: "/",
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, StopSignal: "SIGTERM",
	}, host, nil, nil, s.Name)
	return c.ID, err
}

// Lend implements daemon.
func (l *library) Lend(ctx context.Context, s spec, from string) (string, error) {
	c, err := l.ContainerCreate(ctx, &container.Config{Image: s.Image, Entrypoint: s.Entrypoint, Cmd: []string{}, Labels: s.Labels},
		&container.HostConfig{NetworkMode: "none", VolumesFrom: []string{from}}, nil, nil, s.Name)
	return c.ID, err
}

// Start implements daemon.
func (l *library) Start(ctx context.Context, id string) error {
	now := 0
	return l.ContainerRestart(ctx, id, container.StopOptions{Timeout: &now})
}

// Processes implements daemon.
func (l *library) Processes(ctx context.Context, id string) (n, limit int64, err error) {
	r, err := l.ContainerStatsOneShot(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = r.Body.Close() }() // it was only read
	var s container.StatsResponse
	if err := json.NewDecoder(io.LimitReader(r.Body, maxAnswer)).Decode(&s); err != nil {
		return 0, 0, err
	}
	if s.PidsStats.Limit > 1<<40 { // how some daemons write that there is none
		s.PidsStats.Limit = 0
	}
	return int64(s.PidsStats.Current), int64(s.PidsStats.Limit), nil //nolint:gosec // numbers of processes
}

// Remove implements daemon.
func (l *library) Remove(ctx context.Context, id string) error {
	if err := l.negotiate(ctx); err != nil {
		return err
	}
	err := l.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if notFound(err) || errdefs.IsConflict(err) && strings.Contains(err.Error(), "already in progress") {
		return nil
	}
	return err
}

// List implements daemon.
func (l *library) List(ctx context.Context, label string) ([]listed, error) {
	if err := l.negotiate(ctx); err != nil {
		return nil, err
	}
	found, err := l.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", label))})
	var list []listed
	for _, c := range found {
		one := listed{ID: c.ID, Running: c.State == container.StateRunning, Created: time.Unix(c.Created, 0), Labels: c.Labels}
		if len(c.Names) > 0 {
			one.Name = strings.TrimPrefix(c.Names[0], "/")
		}
		list = append(list, one)
	}
	return list, err
}

// Machine implements daemon. Docker names the processor as uname does.
func (l *library) Machine(ctx context.Context) (machine, error) {
	if err := l.negotiate(ctx); err != nil {
		return machine{}, err
	}
	i, err := l.Info(ctx)
	arch := i.Architecture
	if name, ok := map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[arch]; ok {
		arch = name
	}
	return machine{
		OS: i.OSType, Arch: arch, Processors: i.NCPU,
		Memory: i.MemoryLimit, Swap: i.SwapLimit, CPU: i.CPUCfsQuota, Pids: i.PidsLimit,
		Seccomp: slices.ContainsFunc(i.SecurityOptions, func(o string) bool { return strings.HasPrefix(o, "name=seccomp") }),
	}, err
}

func (l *library) path(exec, action string) string {
	return "/v" + l.ClientVersion() + "/exec/" + exec + "/" + action
}

// Version implements daemon.
func (l *library) Version(ctx context.Context) (daemonVersion, error) {
	if err := l.negotiate(ctx); err != nil {
		return daemonVersion{}, err
	}
	v, err := l.ServerVersion(ctx)
	podman := slices.ContainsFunc(v.Components, func(c types.ComponentVersion) bool { return c.Name == "Podman Engine" })
	return daemonVersion{Engine: v.Version, API: l.ClientVersion(), OS: v.Os, Podman: podman}, err
}

// notFound reports that the daemon does not know what it was asked about.
func notFound(err error) bool {
	var status *statusError
	return errdefs.IsNotFound(err) || errors.As(err, &status) && status.code == http.StatusNotFound
}

// unreachable reports that the daemon was not reached.
func unreachable(err error) bool { return client.IsErrConnectionFailed(err) || dialFailed(err) }

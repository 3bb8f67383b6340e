package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
)

// This file alone knows the client library, so that its successor can take its
// place (hazard DKX-09).

// daemon is what the backend needs of a Docker daemon. Errors are those of the
// library; notFound and others below classify them.
type daemon interface {
	// Inspect describes a container by name or id.
	Inspect(ctx context.Context, name string) (state, error)
	// CreateExec prepares a process in a container.
	CreateExec(ctx context.Context, id string, p process) (exec string, err error)
	// Attach starts a prepared process and returns its streams.
	Attach(ctx context.Context, exec string) (*stream, error)
	// InspectExec returns how a process ended; the code is nil while it runs.
	InspectExec(ctx context.Context, exec string) (code *int, err error)
	// Version names the daemon's version.
	Version(ctx context.Context) (string, error)
	Close() error
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
	Image   string
	Dir     string // the image's working folder
	Started string // changes when it is restarted
}

// process is what to run in a container.
type process struct {
	Argv []string
	User string
	Env  []string
	Dir  string
}

// stream is an attached process: output is multiplexed, input may be closed in
// one direction where the connection can.
type stream struct {
	conn   net.Conn
	reader *bufio.Reader
}

func (s *stream) Read(p []byte) (int, error)  { return s.reader.Read(p) }
func (s *stream) Write(p []byte) (int, error) { return s.conn.Write(p) }
func (s *stream) Close() error                { return s.conn.Close() }

// CloseWrite ends the input if the connection can close one direction.
func (s *stream) CloseWrite() error {
	if c, ok := s.conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// endpoint is where a daemon listens.
type endpoint struct {
	Host   string // unix:///path, tcp://host:port …
	Source string // where the choice comes from
	TLS    string // folder with ca.pem, cert.pem and key.pem; empty for none
	Dial   func(ctx context.Context, network, addr string) (net.Conn, error)
}

type library struct{ *client.Client }

// connect prepares a client; the version is negotiated at the first call
// (hazard DKX-03).
func connect(e endpoint) (daemon, error) {
	options := []client.Opt{client.WithAPIVersionNegotiation()}
	if e.Dial != nil {
		options = append(options, client.WithHost("http://daemon"), client.WithDialContext(e.Dial))
	} else {
		options = append(options, client.WithHost(e.Host))
	}
	if e.TLS != "" {
		options = append(options, client.WithTLSClientConfig(filepath.Join(e.TLS, "ca.pem"), filepath.Join(e.TLS, "cert.pem"), filepath.Join(e.TLS, "key.pem")))
	}
	c, err := client.NewClientWithOpts(options...)
	if err != nil {
		return nil, err
	}
	return library{c}, nil
}

func (l library) Inspect(ctx context.Context, name string) (state, error) {
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
		s.Image, s.Dir = c.Config.Image, c.Config.WorkingDir
	}
	return s, nil
}

func (l library) CreateExec(ctx context.Context, id string, p process) (string, error) {
	r, err := l.ContainerExecCreate(ctx, id, container.ExecOptions{
		Cmd: p.Argv, User: p.User, Env: p.Env, WorkingDir: p.Dir, AttachStdin: true, AttachStdout: true, AttachStderr: true,
	})
	return r.ID, err
}

func (l library) Attach(ctx context.Context, exec string) (*stream, error) {
	r, err := l.ContainerExecAttach(ctx, exec, container.ExecAttachOptions{})
	if err != nil {
		return nil, err
	}
	return &stream{conn: r.Conn, reader: r.Reader}, nil
}

func (l library) InspectExec(ctx context.Context, exec string) (*int, error) {
	// The typed call makes 0 of a missing code (hazard DKX-02); "running" tells
	// them apart only once the process has begun, which the attached stream's
	// end proves.
	r, err := l.ContainerExecInspect(ctx, exec)
	if err != nil {
		return nil, err
	}
	if r.Running || r.Pid == 0 && r.ExitCode == 0 {
		return nil, nil //nolint:nilnil // no code yet is no error
	}
	return &r.ExitCode, nil
}

func (l library) Version(ctx context.Context) (string, error) {
	v, err := l.ServerVersion(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s (API %s)", v.Version, l.ClientVersion()), nil
}

func notFound(err error) bool    { return errdefs.IsNotFound(err) }
func unreachable(err error) bool { return client.IsErrConnectionFailed(err) }

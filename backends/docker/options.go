package docker

import (
	"context"
	"net"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// Options says which container and folder to open. Only Container is required.
type Options struct {
	// Container is a name or an id.
	Container string
	// Dir is the absolute working folder; empty means the image's, else "/".
	Dir string
	// Root is the confinement root; empty means Dir, "/" confines nothing.
	Root string
	// User runs commands and owns new files; empty means the container's own.
	User string
	// Env is added to the environment of commands, as "NAME=value".
	Env []string

	// Host is the daemon, such as unix:///var/run/docker.sock; empty means as
	// the docker command finds it.
	Host string
	// Getenv reads the client's environment (DOCKER_HOST, DOCKER_CONTEXT,
	// DOCKER_CONFIG, DOCKER_CERT_PATH, DOCKER_TLS_VERIFY); nil means that it is empty.
	Getenv func(string) string
	// Home is the home of the client's user, where .docker is.
	Home string
	// Dial reaches daemons whose host is an ssh:// address; nil refuses them.
	Dial func(ctx context.Context, host string) (net.Conn, error)
	// Timeout bounds each request to the daemon that is not a command; 0 means 15 s.
	Timeout time.Duration
}

// Workspace is an open container. Its methods may be called concurrently.
type Workspace struct {
	daemon daemon
	target target
	set    ops.Set
	close  func(ctx context.Context) error
}

// target is the pinned container.
type target struct {
	endpoint endpoint
	id       string
	name     string
	label    string
}

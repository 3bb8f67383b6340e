package docker

import (
	"context"
	"net"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/tools/ops"
)

// Options says which container and folder to open. Only Container is required.
type Options struct {
	// Container is a name, or an id of at least twelve digits.
	Container string
	// Dir is the absolute working folder; empty means the image's, else "/".
	Dir string
	// Root is the confinement root; empty means Dir, "/" confines nothing.
	Root string
	// ExtraRoots are further folders that may be reached, absolute.
	ExtraRoots []ops.Root
	// User runs commands and owns new files; empty means the container's own.
	User string
	// Env is added to the environment of commands, as "NAME=value".
	Env []string
	// ShellPath is the POSIX shell in the container; empty means /bin/sh.
	ShellPath string

	// Host is the daemon, such as unix:///var/run/docker.sock; empty means as
	// the docker command finds it: DOCKER_HOST, else the context that
	// DOCKER_CONTEXT or its configuration names, else the default socket.
	Host string
	// Getenv reads the client's environment (DOCKER_HOST, DOCKER_CONTEXT,
	// DOCKER_CONFIG, DOCKER_CERT_PATH, DOCKER_TLS_VERIFY, DOCKER_API_VERSION);
	// nil means that it is empty.
	Getenv func(string) string
	// Home is the home of the client's user, where .docker is.
	Home string
	// ConfigDir is the docker command's folder of configuration; empty means
	// DOCKER_CONFIG, else .docker in Home.
	ConfigDir string
	// Dial reaches daemons whose host is an ssh:// address, which it is given; nil
	// refuses them. ctx bounds the making of the connection. An error of the way is a
	// *ops.TransportError, whose kind is kept. Half-close is used where the connection
	// has CloseWrite. It may be called concurrently.
	Dial func(ctx context.Context, host string) (net.Conn, error)
	// Timeout bounds each request to the daemon that is not a command; 0 means 15 s.
	Timeout time.Duration
	// Helper says whether the helper is used; the zero value is helper.Auto.
	// Helpers are the programs to be carried into the container, and Lease is how
	// long commands go on there when the connection is lost.
	Helper  helper.Policy
	Helpers install.Bundle
	Lease   time.Duration
	// Keepalive is the time after which a silent helper is asked for a sign, and
	// KeepaliveCount how many may be missing: then the connection is lost. Zero
	// means 15 s and 3.
	Keepalive      time.Duration
	KeepaliveCount int
	// Notice takes sentences for the user that are no errors, such as that the
	// container was restarted; it may be called from any goroutine. Nil drops them.
	Notice func(string)
}

const defaultTimeout = 15 * time.Second

// target is the pinned container.
type target struct {
	endpoint endpoint
	id       string // full
	name     string
	label    string // of the workspace, such as docker://name/dir
}

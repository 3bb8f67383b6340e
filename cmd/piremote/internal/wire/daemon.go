package wire

import (
	"context"
	"fmt"
	"net"
	"path"
	"strings"

	"github.com/piremote/piremote/backends/ssh"
	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools/ops"
)

// daemonSocket is where a Docker daemon listens if nothing says otherwise.
const daemonSocket = "/var/run/docker.sock"

// daemonWay is the way to a Docker daemon behind SSH, whose address has the form
// ssh://[user@]host[:port][/socket] of the docker command. Without a socket the docker
// command over there knows it: of its context, or of a daemon without root.
type daemonWay struct {
	options Options
	finding chan struct{} // holds a token while nobody looks for the way
	host    *ssh.Host
	open    func(ctx context.Context) (net.Conn, error) // nil as long as it is not known
}

func newDaemonWay(o Options) *daemonWay {
	w := &daemonWay{options: o, finding: make(chan struct{}, 1)}
	w.finding <- struct{}{}
	return w
}

// dial has the form that the Docker backend wants.
func (w *daemonWay) dial(ctx context.Context, address string) (net.Conn, error) {
	select {
	case <-w.finding:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	open := w.open
	if open != nil {
		w.finding <- struct{}{}
		return open(ctx)
	}
	defer func() { w.finding <- struct{}{} }()
	return w.find(ctx, address)
}

// find connects for the first time, and keeps how.
func (w *daemonWay) find(ctx context.Context, address string) (net.Conn, error) {
	at, err := parseSSH(address)
	if err != nil {
		return nil, badDaemon(address, err.Error())
	}
	if strings.HasPrefix(at.Path, "~") {
		return nil, badDaemon(address, "its socket is not absolute; write ssh://[user@]host[:port]/path/of/socket")
	}
	if w.host == nil {
		o := w.options
		o.Workspace = config.Workspace{Backend: "ssh", Host: at.Host, User: at.User, Port: at.Port}
		if w.host, err = ssh.NewHost(ctx, sshOptions(o)); err != nil {
			return nil, err
		}
	}
	socket, command := at.Path, false
	if socket == "" || socket == "/" {
		if socket, command, err = w.ask(ctx); err != nil {
			return nil, err
		}
	}
	forward := func(ctx context.Context) (net.Conn, error) { return w.host.Dial(ctx, "unix", socket) }
	relay := func(ctx context.Context) (net.Conn, error) {
		return w.host.Start(ctx, "docker", "system", "dial-stdio")
	}
	open := forward
	if socket == "" {
		open = relay
	}
	conn, err := open(ctx)
	if command && ops.KindOf(err) == ops.KindUnavailable && w.commandReaches(ctx) {
		open = relay // the server forwards nothing
		conn, err = open(ctx)
	}
	if err == nil {
		w.open = open
	}
	return conn, err
}

// ask asks the docker command of the host for its daemon's socket, which is empty if
// only the command itself can reach it. Command says that it is there.
func (w *daemonWay) ask(ctx context.Context) (socket string, command bool, err error) {
	said, code, err := w.host.Ask(ctx, "docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
	switch {
	case ops.KindOf(err) == ops.KindNoShell:
		return daemonSocket, false, nil
	case err != nil:
		return "", false, err
	case code != 0:
		return daemonSocket, false, nil
	}
	if p, ok := strings.CutPrefix(strings.TrimSpace(said), "unix://"); ok && path.IsAbs(p) {
		return p, true, nil
	}
	return "", true, nil
}

// commandReaches says whether the docker command of the host reaches a daemon.
func (w *daemonWay) commandReaches(ctx context.Context) bool {
	_, code, err := w.host.Ask(ctx, "docker", "version", "--format", "{{.Server.Version}}")
	return err == nil && code == 0
}

// close ends the connection to the host. No call is under way.
func (w *daemonWay) close() {
	if w.host != nil {
		_ = w.host.Close() // never fails
	}
}

func badDaemon(address, msg string) error {
	return &ops.TransportError{Kind: ops.KindUnavailable, Target: address, Msg: fmt.Sprintf("the Docker host %s can't be used: %s", address, msg)}
}

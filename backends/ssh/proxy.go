package ssh

import (
	"errors"
	"net"
	"os/exec"
	"time"
)

// proxyCommand starts the program whose standard streams are the connection.
// The command is the user's own ssh_config; the names in it were checked.
func proxyCommand(h hop, env []string) (net.Conn, error) {
	cmd := exec.Command("/bin/sh", "-c", "exec "+h.proxyCommand) //nolint:gosec,noctx // it lives as long as the connection, and Close ends it
	cmd.Env = env
	cmd.WaitDelay = time.Second
	ours, theirs := net.Pipe()
	cmd.Stdin, cmd.Stdout = theirs, theirs
	prepareProxy(cmd)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, ours.Close(), theirs.Close())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the stream's end says all that matters
		_ = theirs.Close()
	}()
	return &proxied{Conn: ours, cmd: cmd, ended: ended}, nil
}

// proxied is a connection through a program.
type proxied struct {
	net.Conn
	cmd   *exec.Cmd
	ended chan struct{}
}

// Close ends the program with its tree and waits for it.
func (p *proxied) Close() error {
	err := p.Conn.Close()
	select {
	case <-p.ended:
	default:
		endProxy(p.cmd)
		<-p.ended
	}
	return err
}

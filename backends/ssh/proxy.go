package ssh

import (
	"errors"
	"io"
	"net"
	"os/exec"
	"sync"
	"time"
)

// proxyCommand starts the program whose standard streams are the connection.
// The command is the user's own ssh_config; the names in it were checked.
func proxyCommand(h hop, env []string) (net.Conn, error) {
	cmd := exec.Command("/bin/sh", "-c", "exec "+h.proxyCommand) //nolint:gosec,noctx // it lives as long as the connection, and Close ends it
	cmd.Env = env
	cmd.WaitDelay = time.Second
	prepareProxy(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &proxied{cmd: cmd, in: in, out: out}, nil
}

// proxied is a connection through a program. The program is waited for when the
// connection is closed; until then its number can't become another's.
type proxied struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.ReadCloser
	once sync.Once
}

// Read reads what the program writes; its end is the end.
func (p *proxied) Read(b []byte) (int, error) { return p.out.Read(b) }

// Write gives the program input.
func (p *proxied) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close ends the program with its tree and waits for it.
func (p *proxied) Close() error {
	p.once.Do(func() {
		endProxy(p.cmd)
		_ = p.in.Close()
		_ = p.cmd.Wait() // its status says nothing that the stream did not
	})
	return nil
}

// A program has no address and no deadlines; the context does their work.

func (p *proxied) LocalAddr() net.Addr              { return proxyAddr{} }
func (p *proxied) RemoteAddr() net.Addr             { return proxyAddr{} }
func (p *proxied) SetDeadline(time.Time) error      { return nil }
func (p *proxied) SetReadDeadline(time.Time) error  { return nil }
func (p *proxied) SetWriteDeadline(time.Time) error { return nil }

type proxyAddr struct{}

func (proxyAddr) Network() string { return "proxy" }
func (proxyAddr) String() string  { return "proxy" }

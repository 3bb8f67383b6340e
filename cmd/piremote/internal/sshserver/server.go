package sshserver

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gliderlabs/ssh"
	"github.com/pkg/sftp"
	gossh "golang.org/x/crypto/ssh"
)

// Server is a running server with the client files that it takes to reach it.
type Server struct {
	Host string
	Port int
	User string
	// Home is a folder with .ssh/id_ed25519, .ssh/known_hosts and .ssh/config for
	// the client.
	Home string

	server   *ssh.Server
	sessions sync.WaitGroup
	done     chan error
}

// Start listens on a free loopback port. Files of the client and the home of
// commands are made below dir. The server ends with Close.
func Start(dir string) (*Server, error) {
	s := &Server{Host: "127.0.0.1", User: "demo", Home: dir, done: make(chan error, 1)}
	hostKey, err := newSigner()
	if err != nil {
		return nil, err
	}
	clientPEM, clientKey, err := newKey()
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(s.Host, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	addr, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, errors.Join(errors.New("loopback listener has no port"), listener.Close())
	}
	s.Port = addr.Port
	if err := s.writeClientFiles(clientPEM, hostKey.PublicKey()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.server = &ssh.Server{
		Handler:           s.command,
		SubsystemHandlers: map[string]ssh.SubsystemHandler{"sftp": s.sftp},
		PublicKeyHandler: func(_ ssh.Context, key ssh.PublicKey) bool {
			return ssh.KeysEqual(key, clientKey.PublicKey())
		},
	}
	s.server.AddHostKey(hostKey)
	go func() { s.done <- s.server.Serve(listener) }()
	return s, nil
}

// Close ends the server with every session.
func (s *Server) Close() error {
	err := s.server.Close()
	if serveErr := <-s.done; !errors.Is(serveErr, ssh.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	s.sessions.Wait()
	return err
}

func (s *Server) writeClientFiles(key []byte, host gossh.PublicKey) error {
	folder := filepath.Join(s.Home, ".ssh")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	knownHost := fmt.Sprintf("[%s]:%d %s", s.Host, s.Port, gossh.MarshalAuthorizedKey(host))
	for name, content := range map[string][]byte{"id_ed25519": key, "known_hosts": []byte(knownHost), "config": nil} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// command runs what a client asked for, as sshd does: by a shell, in the home
// folder.
func (s *Server) command(session ssh.Session) {
	s.sessions.Add(1)
	defer s.sessions.Done()
	ctx, cancel := context.WithCancel(session.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", session.RawCommand()) //nolint:gosec // running commands is what a shell server is for
	cmd.Dir = s.Home
	cmd.Env = []string{"HOME=" + s.Home, "PATH=" + searchPath(), "USER=" + s.User, "SHELL=/bin/sh"}
	cmd.Stdout, cmd.Stderr = session, session.Stderr()
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_, _ = fmt.Fprintln(session.Stderr(), err)
		_ = session.Exit(127)
		return
	}
	go func() {
		_, _ = io.Copy(stdin, session) // ends with the session's input or the process
		_ = stdin.Close()
	}()
	_ = session.Exit(exitCode(cmd.Wait()))
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	}
	return 255
}

func (s *Server) sftp(session ssh.Session) {
	s.sessions.Add(1)
	defer s.sessions.Done()
	server, err := sftp.NewServer(session, sftp.WithServerWorkingDirectory(s.Home))
	if err != nil {
		return
	}
	_ = server.Serve() // ends with the session
	_ = server.Close()
}

func searchPath() string {
	return strings.Join([]string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"}, ":")
}

func newSigner() (gossh.Signer, error) {
	_, signer, err := newKey()
	return signer, err
}

func newKey() ([]byte, gossh.Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, nil, err
	}
	signer, err := gossh.NewSignerFromKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(block), signer, nil
}

//go:build linux

package install_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/install"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundleOf packs a program as the helper for an architecture.
func bundleOf(t testing.TB, program []byte, arch string) install.Bundle {
	t.Helper()
	packed, err := install.Pack(program)
	must(t, err)
	p, err := install.NewProgram("linux", arch, packed)
	must(t, err)
	return install.NewBundle(p)
}

// nameOf is that of a bundle's only program on a target.
func nameOf(b install.Bundle) string { return "helper-" + b.Programs()[0].Hash }

// machineExec starts programs on this machine, as a target would.
type machineExec struct {
	argv    []string // in place of /bin/sh
	login   string   // a shell that gets one command line, as sshd does it
	env     []string
	account uint32 // that runs it; 0: the one of the test
	cut     int    // bytes of input after which it ends; 0: never

	mu    sync.Mutex
	execs int
}

// Exec implements Exec.
func (e *machineExec) Exec(_ context.Context, argv []string) (install.Process, error) {
	e.mu.Lock()
	e.execs++
	e.mu.Unlock()
	if e.login != "" {
		argv = []string{e.login, "-c", "exec '" + strings.Join(argv, "' '") + "'"}
	} else if argv[0] == "/bin/sh" && len(e.argv) > 0 {
		argv = append(append([]string{}, e.argv...), argv[1:]...)
	}
	p := &machineProcess{cmd: exec.Command(argv[0], argv[1:]...), left: -1}
	if e.cut > 0 {
		p.left = e.cut
	}
	p.cmd.Env, p.cmd.Stderr, p.cmd.WaitDelay, p.cmd.Dir = e.env, &p.stderr, time.Second, "/"
	if e.account != 0 {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: e.account, Gid: e.account}}
	}
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return p, p.cmd.Start()
}

type machineProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr strings.Builder
	left   int // bytes of input that may come; below 0: any number
	once   sync.Once
	err    error
}

func (p *machineProcess) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Write implements install.Process.
func (p *machineProcess) Write(b []byte) (int, error) {
	if p.left >= 0 && len(b) > p.left {
		b = b[:p.left]
		defer func() { _ = p.stdin.Close() }() // the link is cut
	}
	return p.stdin.Write(b)
}

// CloseWrite implements install.Process.
func (p *machineProcess) CloseWrite() error { return p.stdin.Close() }

// Close implements io.Closer.
func (p *machineProcess) Close() error {
	_ = p.stdin.Close() // it may have ended
	_ = p.stdout.Close()
	_, _ = p.Wait(context.Background())
	return nil
}

// Wait implements Process.
func (p *machineProcess) Wait(context.Context) (install.Exit, error) {
	p.once.Do(func() { p.err = p.cmd.Wait() })
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		return install.Exit{}, p.err
	}
	return install.Exit{Code: p.cmd.ProcessState.ExitCode(), Stderr: p.stderr.String()}, nil
}

// home is a target's account with nothing in its home.
func home(t testing.TB) (dir string, env []string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir, []string{"HOME=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin"}
}

// talkTo checks that a stream is that of a working helper, and ends it.
func talkTo(t testing.TB, s *install.Stream) {
	t.Helper()
	want := helpertest.EchoGreeting(mask())
	said := make([]byte, len(want))
	if _, err := io.ReadFull(s, said); err != nil || string(said) != want {
		t.Errorf("the helper says %q, %v, want %q", said, err, want)
	}
	data := strings.Repeat("\x00\xff\r\nsome bytes", 1000)
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(s, data)
		sent <- err
	}()
	got := make([]byte, len(data))
	if _, err := io.ReadFull(s, got); err != nil || string(got) != data {
		t.Errorf("the echo is broken: %v", err)
	}
	must(t, <-sent)
	must(t, s.Close())
}

// mask is the file creation mask that helpers inherit from this process.
func mask() int {
	data, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(data), "Umask:")
	var m int
	_, _ = fmt.Sscanf(rest, "%o", &m)
	return m
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

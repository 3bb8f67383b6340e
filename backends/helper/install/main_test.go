//go:build linux

package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/piremote/piremote/backends/helper"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// built is the tests' helper, which echoes; see testdata/program.
var built = sync.OnceValues(func() ([]byte, error) { //nolint:gochecknoglobals // built once for all tests
	return buildProgram(runtime.GOARCH, runtime.GOARCH)
})

// buildProgram builds the tests' helper for one architecture that says that it is
// for another one.
func buildProgram(arch, says string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "piremote-install-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.Command("go", "build", "-ldflags", "-s -w -X 'main.version="+helper.VersionLine("linux", says)+"'", "-o", dir+"/program", "./testdata/program")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w\n%s", err, out)
	}
	return os.ReadFile(dir + "/program")
}

// bundle is that of the tests' helper, for this machine.
func bundle(t testing.TB) Bundle {
	t.Helper()
	program, err := built()
	must(t, err)
	return bundleOf(t, program, runtime.GOARCH)
}

func bundleOf(t testing.TB, program []byte, arch string) Bundle {
	t.Helper()
	packed, err := Pack(program)
	must(t, err)
	p, err := NewProgram("linux", arch, packed)
	must(t, err)
	return NewBundle(p)
}

// machineExec starts programs on this machine, as a target would.
type machineExec struct {
	argv    []string // in place of /bin/sh
	login   string   // a shell that gets one command line, as sshd does it
	env     []string
	account uint32 // that runs it; 0: the one of the test

	mu    sync.Mutex
	execs int
}

// Exec implements Exec.
func (e *machineExec) Exec(_ context.Context, argv []string) (Process, error) {
	e.mu.Lock()
	e.execs++
	e.mu.Unlock()
	if e.login != "" {
		argv = []string{e.login, "-c", "exec '" + strings.Join(argv, "' '") + "'"}
	} else if argv[0] == "/bin/sh" && len(e.argv) > 0 {
		argv = append(append([]string{}, e.argv...), argv[1:]...)
	}
	p := &machineProcess{cmd: exec.Command(argv[0], argv[1:]...)}
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
	once   sync.Once
	err    error
}

func (p *machineProcess) Read(b []byte) (int, error)  { return p.stdout.Read(b) }
func (p *machineProcess) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// Close implements io.Closer.
func (p *machineProcess) Close() error {
	_ = p.stdin.Close() // it may have ended
	_ = p.stdout.Close()
	_, _ = p.Wait(context.Background())
	return nil
}

// Wait implements Process.
func (p *machineProcess) Wait(context.Context) (Exit, error) {
	p.once.Do(func() { p.err = p.cmd.Wait() })
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		return Exit{}, p.err
	}
	return Exit{Code: p.cmd.ProcessState.ExitCode(), Stderr: p.stderr.String()}, nil
}

// home is a target's account with nothing in its home.
func home(t testing.TB) (dir string, env []string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir, []string{"HOME=" + dir, "PATH=/usr/local/bin:/usr/bin:/bin"}
}

// talkTo checks that a stream is that of a working helper, and ends it.
func talkTo(t testing.TB, s *Stream) {
	t.Helper()
	said := make([]byte, 64)
	n, err := io.ReadAtLeast(s, said, len("hello 32 022 []\n"))
	if want := fmt.Sprintf("hello 32 %03o []\n", mask()); err != nil || string(said[:n]) != want {
		t.Errorf("the helper says %q, %v, want %q", said[:n], err, want)
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

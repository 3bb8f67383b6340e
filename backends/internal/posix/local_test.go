//go:build linux

package posix

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// localRunner runs shells on this machine, in place of a transport.
type localRunner struct {
	argv   []string // stands for Argv[0]
	env    []string
	before string // noise of a start-up file
	runs   atomic.Int64
	argvs  sync.Map // every argument that was seen
}

// Run implements Runner.
func (r *localRunner) Run(ctx context.Context, p Process) (Status, error) {
	r.runs.Add(1)
	for _, a := range p.Argv {
		r.argvs.Store(a, true)
	}
	argv := append(append([]string{}, r.argv...), p.Argv[1:]...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = 500 * time.Millisecond
	cmd.Env = r.env
	cmd.Stdin = p.Stdin
	if r.before != "" && p.Stdout != nil {
		p.Stdout([]byte(r.before))
	}
	cmd.Stdout, cmd.Stderr = sink(p.Stdout), sink(p.Stderr)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Run()
	if ctx.Err() != nil {
		return Status{}, ctx.Err()
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		ws, _ := exit.Sys().(syscall.WaitStatus)
		if ws.Signaled() {
			return Status{Code: 128 + int(ws.Signal()), Signal: "KILL"}, nil
		}
		return Status{Code: exit.ExitCode()}, nil
	case errors.Is(err, exec.ErrWaitDelay):
		// The shell has ended and something still holds the pipe: a transport
		// would go on waiting.
		<-ctx.Done()
		return Status{}, ctx.Err()
	case err != nil:
		return Status{}, &ops.TransportError{Kind: ops.KindNoShell, Msg: err.Error(), Err: err}
	}
	return Status{}, nil
}

type sink func([]byte)

// Write implements io.Writer.
func (s sink) Write(p []byte) (int, error) {
	if s != nil {
		s(p)
	}
	return len(p), nil
}

var _ io.Writer = sink(nil)

// target is a shell and a set of tools that tests run on.
type target struct {
	name string
	argv []string
	env  []string
}

// targets are dash and bash with the machine's tools, and BusyBox with nothing
// but its applets.
func targets(t *testing.T) []target {
	t.Helper()
	path := "/usr/local/bin:/usr/bin:/bin"
	var list []target
	if p, err := exec.LookPath("dash"); err == nil {
		list = append(list, target{"dash", []string{p}, []string{"PATH=" + path, "HOME=/nowhere", "LANG=C.UTF-8"}})
	}
	if p, err := exec.LookPath("bash"); err == nil {
		list = append(list, target{"bash", []string{p, "--posix"}, []string{"PATH=" + path, "HOME=/nowhere", "LC_ALL=C.UTF-8"}})
	}
	if p, err := exec.LookPath("busybox"); err == nil {
		bin := t.TempDir()
		out, err := exec.CommandContext(t.Context(), p, "--list").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, applet := range strings.Fields(string(out)) {
			if err := os.Symlink(p, filepath.Join(bin, applet)); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, target{"busybox", []string{filepath.Join(bin, "sh")}, []string{"PATH=" + bin, "HOME=/nowhere"}})
	}
	if len(list) == 0 {
		t.Fatal("no POSIX shell on this machine")
	}
	return list
}

// each runs fn on every target with a fresh folder.
func each(t *testing.T, fn func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	for _, tg := range targets(t) {
		t.Run(tg.name, func(t *testing.T) {
			t.Parallel()
			fn(t, newFixture(t, tg))
		})
	}
}

type fixture struct {
	*Engine
	runner *localRunner
	dir    string // the root
	out    string // a folder beside it
}

func newFixture(t *testing.T, tg target) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{dir: base + "/ws", out: base + "/ws-out"}
	for _, d := range []string{f.dir, f.out, base + "/tmp"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.runner = &localRunner{argv: tg.argv, env: append([]string{"TMPDIR=" + base + "/tmp"}, tg.env...), before: "noise \x1b[33m without an end"}
	f.Engine, err = New(t.Context(), Options{Runner: f.runner, Dir: f.dir, Root: f.dir, Label: "test:" + tg.name, Backend: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		left, _ := filepath.Glob(base + "/*/.piremote-*")
		if len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
	return f
}

func (f *fixture) path(name string) string { return f.dir + "/" + name }

func (f *fixture) put(t *testing.T, name, data string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.path(name), []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	return f.path(name)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("error is %v, want %v", err, target)
	}
}

//go:build linux

package posix

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/piremote/piremote/internal/require"
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
	cmd.WaitDelay = 500 * time.Millisecond // for an input that nobody reads to its end
	cmd.Env = r.env
	cmd.Stdin = p.Stdin
	if r.before != "" && p.Stdout != nil {
		p.Stdout([]byte(r.before))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var wg sync.WaitGroup
	var ours, theirs []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for i, take := range []func([]byte){p.Stdout, p.Stderr} {
		pr, pw, err := os.Pipe()
		if err != nil {
			return Status{}, err
		}
		ours, theirs = append(ours, pr), append(theirs, pw)
		if i == 0 {
			cmd.Stdout = pw
		} else {
			cmd.Stderr = pw
		}
		wg.Go(func() {
			buf := make([]byte, 32<<10)
			for {
				n, err := pr.Read(buf)
				if n > 0 && take != nil {
					take(buf[:n])
				}
				if err != nil {
					return
				}
			}
		})
	}
	err := cmd.Start()
	closeAll(theirs)
	if err == nil {
		err = cmd.Wait()
	}
	// A transport goes on reading as long as something holds the pipes, unless it
	// was told that the shell has failed.
	read := make(chan struct{})
	go func() { wg.Wait(); close(read) }()
	var exit *exec.ExitError
	var failed <-chan time.Time
	if errors.As(err, &exit) {
		failed = time.After(500 * time.Millisecond)
	}
	select {
	case <-read:
	case <-failed:
	case <-ctx.Done():
	}
	closeAll(ours)
	<-read
	if ctx.Err() != nil {
		return Status{}, ctx.Err()
	}
	switch {
	case errors.As(err, &exit):
		ws, _ := exit.Sys().(syscall.WaitStatus)
		if ws.Signaled() {
			return Status{Code: 128 + int(ws.Signal()), Signal: "KILL"}, nil
		}
		return Status{Code: exit.ExitCode()}, nil
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return Status{}, &ops.TransportError{Kind: ops.KindNoShell, Msg: err.Error(), Err: err}
	}
	return Status{}, nil
}

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
	} else if require.Demanded("busybox") {
		t.Fatal("busybox is required but not there: package busybox-static")
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

//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper/build"
	"github.com/piremote/piremote/backends/helper/install"
)

var binary string //nolint:gochecknoglobals // built once for all tests

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "piremote-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "piremote")
	overlay, err := withHelper(dir)
	if err != nil {
		return 1, err
	}
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", binary, "github.com/piremote/piremote/cmd/piremote")
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// withHelper builds the helper and returns an overlay of the source that has it
// embedded, as make build does it, without a change of the source.
func withHelper(dir string) (overlay string, err error) {
	program, err := build.Program(context.Background(), ".", runtime.GOARCH)
	if err != nil {
		return "", err
	}
	packed, err := install.Pack(program)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "helper.gz")
	if err := os.WriteFile(file, packed, 0o600); err != nil {
		return "", err
	}
	embedded, err := filepath.Abs(filepath.Join("..", "backends", "helper", "install", "embedded", install.FileName(runtime.GOARCH)))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {embedded: file}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// result is how a run of the binary ended.
type result struct {
	stdout, stderr string
	code           int
	took           time.Duration
	peak           int64 // peak resident memory in bytes
}

// target is a place to work, with its address and the same folder on this machine.
type target struct {
	name    string
	address string // of the folder
	dir     string // on the target
	host    string // the folder on this machine
	env     []string
	program string // that is run; empty: the binary
	account uint32 // that runs it; 0: the one of the test
}

// run runs the binary with an environment of its own.
func run(t testing.TB, env []string, args ...string) result {
	t.Helper()
	return target{env: env}.fed(t, nil, args...)
}

// on runs the binary on a target.
func (x target) on(t testing.TB, args ...string) result {
	t.Helper()
	return x.fed(t, nil, args...)
}

// fed is on with a standard input.
func (x target) fed(t testing.TB, stdin io.Reader, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	program := binary
	if x.program != "" {
		program = x.program
	}
	if x.address != "" {
		args = append([]string{"-w", x.address}, args...)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "USER=root"}, x.env...)
	cmd.WaitDelay = 5 * time.Second
	if x.account != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: x.account, Gid: x.account}}
		cmd.Dir = x.host
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak := watchMemory(cmd.Process.Pid)
	err := cmd.Wait()
	r := result{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(start)}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		r.code = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	r.peak = peak()
	return r
}

// watchMemory follows the peak memory of a process and returns a function that
// ends that and returns the bytes. What wait(2) tells is of no use: a child of a
// large process inherits that one's peak.
func watchMemory(pid int) func() int64 {
	stop, done := make(chan struct{}), make(chan struct{})
	var peak int64
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if err != nil {
				return
			}
			if _, after, ok := bytes.Cut(status, []byte("VmHWM:")); ok {
				var kib int64
				if _, err := fmt.Sscan(string(after), &kib); err == nil {
					peak = kib << 10
				}
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() int64 { close(stop); <-done; return peak }
}

// targets returns a fresh folder on each kind of target.
func targets(t testing.TB) []target {
	t.Helper()
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	return []target{
		localTarget(t), sshTarget(t, s), dockerTarget(t), sshTarget(t, s).agentless(), dockerTarget(t).agentless(),
	}
}

// policy sets how the helper is used.
func policy(p string) string { return "PIREMOTE_HELPER_POLICY=" + p }

// agentless is the target where the helper is not used.
func (x target) agentless() target {
	x.name += " agentless"
	x.env = append(slices.Clone(x.env), policy("never"))
	return x
}

func localTarget(t testing.TB) target {
	t.Helper()
	dir := t.TempDir()
	return target{name: "local", address: dir, dir: dir, host: dir}
}

func sshTarget(t testing.TB, s *servers.SSHD) target {
	t.Helper()
	dir := t.TempDir()
	return target{
		name: "ssh", address: fmt.Sprintf("ssh://%s@%s%s", s.User, s.Address(), dir), dir: dir, host: dir,
		env: []string{"HOME=" + s.Home, policy("require")},
	}
}

func dockerTarget(t testing.TB) target {
	t.Helper()
	d := servers.StartDockerd(t)
	dir := t.TempDir()
	name := d.Run(t, servers.ContainerOptions{Binds: []string{dir + ":/ws"}})
	return target{name: "docker", address: "docker://" + name + "/ws", dir: "/ws", host: dir, env: []string{"DOCKER_HOST=" + d.Host, policy("require")}}
}

// survivors counts live processes of this machine, containers included, that
// have arg among their arguments.
func survivors(t *testing.T, arg string) int {
	t.Helper()
	n := 0
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		for _, a := range strings.Split(string(data), "\x00") {
			if a == arg {
				n++
				break
			}
		}
	}
	return n
}

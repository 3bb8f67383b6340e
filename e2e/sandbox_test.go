//go:build linux

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
)

// box is a folder of an ordinary account in which the binary is run with a sandbox.
type box struct {
	daemon  *servers.Dockerd
	dir     string
	address string
	env     []string
}

func newBox(t *testing.T) box {
	t.Helper()
	d := servers.StartDockerd(t)
	b := box{daemon: d, dir: t.TempDir(), address: "sandbox://" + d.BusyBox(t) + "/srv/work"}
	b.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DOCKER_HOST=" + d.Host}
	if err := os.Chown(b.dir, 1001, 1001); err != nil {
		servers.Missing(t, "root", err.Error())
	}
	b.put(t, "a.txt", "hello\n")
	return b
}

func (b box) put(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(b.dir, name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, 1001, 1001); err != nil {
		t.Fatal(err)
	}
}

func (b box) get(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// output is what a program prints, to be read while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// command is a run of the binary in the folder.
func (b box) command(ctx context.Context, args ...string) (cmd *exec.Cmd, stdout, stderr *output) {
	cmd = exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.dir, b.env, 5*time.Second
	stdout, stderr = &output{}, &output{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

func (b box) run(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd, stdout, stderr := b.command(ctx, args...)
	_ = cmd.Run() // the state tells
	return result{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
}

var sandboxName = regexp.MustCompile(`Sandbox (piremote-[a-z0-9]+) of`)

// name returns the container that a run tells of.
func name(t *testing.T, text string) string {
	t.Helper()
	m := sandboxName.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no sandbox is named: %q", text)
	}
	return m[1]
}

func TestSandboxToolCall(t *testing.T) {
	b := newBox(t)
	r := b.run(t, "-w", b.address, "--env", "X=a b", "--memory", "256m", "--mount", "tmpfs:/dev/shm", "tool", "bash", "command=pwd; id -u; echo $X; cat a.txt; echo new >b.txt; echo x >/dev/shm/x")
	if r.code != 0 || !strings.HasPrefix(r.stdout, "/srv/work\n1001\na b\nhello\n") || b.get(t, "b.txt") != "new\n" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"commands run as 1001:1001 without capabilities", "there is no network", "at most 256 MiB of memory", "at most 512 processes"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("the start does not tell %q: %q", want, r.stderr)
		}
	}
	if b.daemon.Exists(t, name(t, r.stderr)) {
		t.Error("the container is still there")
	}
	r = b.run(t, "-w", b.address, "--cpus", "-1", "doctor")
	for _, want := range []string{"ok    enforced     commands run as 1001:1001", "ok    weaker       processors are not limited, as was asked for", "ok    helper       /.piremote/helper-"} {
		if r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("doctor does not tell %q: %+v", want, r)
		}
	}
}

func TestSandboxFaults(t *testing.T) {
	b := newBox(t)
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{2, []string{"-w", ".", "--network", "bridge", "--keep", "tool", "ls"}, "--network, --keep is for sandboxes"},
		{2, []string{"-w", b.address, "--memory", "7", "tool", "ls"}, "is no size of at least 32m"},
		{2, []string{"-w", "sandbox:///x", "tool", "ls"}, "it names no image"},
		{2, []string{"-w", b.address, "--remote-only", "tool", "ls"}, "sandbox://image with --copy"},
		{5, []string{"-w", b.address, "--network", "host", "tool", "ls"}, "would be no sandbox"},
		{5, []string{"-w", b.address, "--mount", "/x", "tool", "ls"}, "has not the form"},
		{5, []string{"-w", "sandbox://127.0.0.1:1/no/such:1", "tool", "ls"}, "the image 127.0.0.1:1/no/such:1 is not at the daemon unix://"},
	} {
		if r := b.run(t, c.args...); r.code != c.code || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("%q: %+v", c.args, r)
		}
	}
}

// sleeping starts a run in whose sandbox a command sleeps, with an argument that nobody
// else has.
func (b box) sleeping(t *testing.T, flags ...string) (cmd *exec.Cmd, stderr *output, arg string) {
	t.Helper()
	arg = fmt.Sprintf("1%09d", time.Now().UnixNano()%1_000_000_000)
	cmd, _, stderr = b.command(t.Context(), append(flags, "-w", b.address, "tool", "bash", "command=echo "+arg+" >by-box.txt; sleep "+arg)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the command", func() bool { return survivors(t, arg) > 0 })
	return cmd, stderr, arg
}

func TestInterruptRemovesTheSandbox(t *testing.T) {
	b := newBox(t)
	cmd, stderr, arg := b.sleeping(t)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the state tells
	if code := cmd.ProcessState.ExitCode(); code != 130 || b.daemon.Exists(t, name(t, stderr.String())) || survivors(t, arg) > 0 {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// After a kill gc removes exactly what that left, keeps what was changed in a copy, and
// tells of the sandboxes that were to stay.
func TestGCRemovesTheSandboxOfAKilledClient(t *testing.T) {
	b := newBox(t)
	unrelated := b.daemon.Run(t, servers.ContainerOptions{})
	live, liveErr, _ := b.sleeping(t)
	r := b.run(t, "-w", b.address, "--keep", "tool", "ls")
	kept := name(t, r.stderr)
	defer b.daemon.Remove(t, kept)
	dead, deadErr, arg := b.sleeping(t, "--copy")
	if err := dead.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = dead.Wait() // it was killed
	until(t, "the command's end", func() bool { return survivors(t, arg) == 0 })
	left, stays := name(t, deadErr.String()), name(t, liveErr.String())
	if !b.daemon.Exists(t, left) {
		t.Fatalf("%s went by itself", left)
	}
	r = b.run(t, "gc", "-w", ".") // whatever the workspace is
	if r.code != 0 || !strings.Contains(r.stdout, "removed the sandbox "+left+"\n") || strings.Count(r.stdout, "removed the sandbox") != 1 {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.stdout, "kept the sandbox "+kept+", made ") || !strings.Contains(r.stdout, "; docker rm -f "+kept+" removes it\n") {
		t.Errorf("gc does not tell of %s: %+v", kept, r)
	}
	if !strings.Contains(r.stderr, "The sandbox "+left+" changed 1 file or folder of its copy") {
		t.Errorf("gc does not tell of the changes: %+v", r)
	}
	if r := b.run(t, "diff", left); r.code != 0 || !strings.Contains(r.stdout, "+"+arg+"\n") {
		t.Errorf("the changes of the killed client: %+v", r)
	}
	if b.daemon.Exists(t, left) || !b.daemon.Exists(t, stays) || !b.daemon.Exists(t, unrelated) {
		t.Errorf("left %v, live %v, unrelated %v", b.daemon.Exists(t, left), b.daemon.Exists(t, stays), b.daemon.Exists(t, unrelated))
	}
	if r := b.run(t, "gc", "-w", b.address); r.code != 0 || !strings.Contains(r.stdout, "0 sandboxes were removed, ") {
		t.Errorf("%+v", r)
	}
	if err := live.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = live.Wait() // the state tells
	if b.daemon.Exists(t, stays) {
		t.Error("the live one is still there after its end")
	}
}

// What a sandbox changed in a copy is shown, and applied where nothing changed here.
func TestSandboxCopyDiffAndApply(t *testing.T) {
	b := newBox(t)
	for name, text := range map[string]string{"edit.txt": "one\ntwo\nthree\n", "both.txt": "old\n", "gone.txt": "x\n", "mode.sh": "x\n", "same.txt": "same\n"} {
		b.put(t, name, text)
	}
	script := "echo TWO >l; sed -i 's/two/TWO/' edit.txt; echo box >both.txt; rm gone.txt l; chmod 755 mode.sh; mkdir new; echo n >new/n.txt; ln -s edit.txt in; ln -s /etc/passwd out"
	r := b.run(t, "-w", b.address, "--copy", "tool", "bash", "command="+script)
	box := name(t, r.stderr)
	if r.code != 0 || !strings.Contains(r.stderr, "changed 8 files and folders of its copy") || !strings.Contains(r.stderr, "a copy of "+b.dir) {
		t.Fatalf("%+v", r)
	}
	if b.daemon.Exists(t, box) || b.get(t, "edit.txt") != "one\ntwo\nthree\n" {
		t.Error("the container is there, or the folder has changed")
	}
	b.put(t, "both.txt", "mine\n")
	r = b.run(t, "diff")
	for _, want := range []string{
		"# " + box + " of ", "-two\n+TWO\n", "deleted: gone.txt\n", "permissions 755", "folder: new\n", "+n\n", "link: out to \"/etc/passwd\"\n",
		"changed: both.txt (it was changed here too, since the copy was made); the version of the sandbox is /",
	} {
		if r.code != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("diff does not show %q: %+v", want, r)
		}
	}
	if r := b.run(t, "diff", "no-such-box"); r.code != 2 {
		t.Errorf("%+v", r)
	}
	r = b.run(t, "apply", box)
	if r.code != 1 || strings.Count(r.stdout, "applied ") != 6 || !strings.Contains(r.stdout, `refused "both.txt": it was changed here since`) ||
		!strings.Contains(r.stdout, `refused "out": it is a link to "/etc/passwd", outside`) || !strings.Contains(r.stderr, "2 changes were refused and kept") {
		t.Errorf("%+v", r)
	}
	info, err := os.Stat(filepath.Join(b.dir, "new", "n.txt"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 1001 {
		t.Errorf("%v, %v", info, err)
	}
	mode, err := os.Stat(filepath.Join(b.dir, "mode.sh"))
	if err != nil || mode.Mode() != 0o755 {
		t.Errorf("%v, %v", mode, err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "gone.txt")); !os.IsNotExist(err) {
		t.Errorf("the deleted file: %v", err)
	}
	if b.get(t, "edit.txt") != "one\nTWO\nthree\n" || b.get(t, "both.txt") != "mine\n" || b.get(t, "in") != "one\nTWO\nthree\n" {
		t.Errorf("%q, %q", b.get(t, "edit.txt"), b.get(t, "both.txt"))
	}
	// Both versions are there, until one is given up.
	b.put(t, "both.txt", "old\n")
	if r = b.run(t, "apply"); r.code != 1 || strings.Count(r.stdout, "applied ") != 1 || b.get(t, "both.txt") != "box\n" {
		t.Errorf("%+v", r)
	}
	if r = b.run(t, "apply", "--discard"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if r = b.run(t, "diff"); r.code != 0 || r.stdout != "" || !strings.Contains(r.stderr, "no changes") {
		t.Errorf("%+v", r)
	}
}

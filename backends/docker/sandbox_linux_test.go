package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/tools/ops"
)

// account owns the folders that tests work on.
const account = 1001

// sandboxOptions are those of a sandbox on a folder that an ordinary account owns.
func sandboxOptions(tb testing.TB) SandboxOptions {
	tb.Helper()
	d := servers.StartDockerd(tb)
	dir := tb.TempDir()
	own(tb, dir)
	put(tb, filepath.Join(dir, "a.txt"), "hello\n")
	return SandboxOptions{Options: Options{Host: d.Host, Helpers: helpertest.Bundle(tb)}, Image: d.BusyBox(tb), Folder: dir, StateDir: tb.TempDir()}
}

// sandbox opens one that ends with the test.
func sandbox(tb testing.TB, o SandboxOptions) *Sandbox {
	tb.Helper()
	s, err := OpenSandbox(tb.Context(), o)
	must(tb, err)
	tb.Cleanup(func() { must(tb, s.Close()) })
	return s
}

func own(tb testing.TB, file string) {
	tb.Helper()
	if os.Getuid() != 0 {
		servers.Missing(tb, "root", "a folder of another account needs it")
	}
	must(tb, os.Lchown(file, account, account))
}

func put(tb testing.TB, file, text string) {
	tb.Helper()
	must(tb, os.WriteFile(file, []byte(text), 0o644))
	own(tb, file)
}

func get(tb testing.TB, file string) string {
	tb.Helper()
	data, err := os.ReadFile(file)
	must(tb, err)
	return string(data)
}

// fails runs a command and returns the output of one that does not succeed.
func fails(t *testing.T, set ops.Set, script string) string {
	t.Helper()
	var out strings.Builder
	exit, err := set.Bash.Exec(t.Context(), ops.Command{Script: script, Timeout: time.Minute}, func(c ops.Chunk) { out.Write(c.Data) })
	if err != nil || exit.Code == 0 || exit.TimedOut {
		t.Errorf("%s: %+v, %v, %q", script, exit, err, out.String())
	}
	return out.String()
}

func TestSandboxWorksOnTheFolder(t *testing.T) {
	t.Parallel()
	o := sandboxOptions(t)
	s := sandbox(t, o)
	if got := sh(t, s.Set(), "cat a.txt; echo new >b.txt; pwd; id -u; id -g; id -G; echo $HOME"); got != "hello\n/workspace\n1001\n1001\n1001\n/home/piremote\n" {
		t.Errorf("%q", got)
	}
	file := filepath.Join(o.Folder, "b.txt")
	if uid, gid, ok := owner(file); get(t, file) != "new\n" || !ok || uid != account || gid != account {
		t.Errorf("%q of %d:%d, %v", get(t, file), uid, gid, ok)
	}
	if _, err := s.Set().Write.WriteFile(t.Context(), "/workspace/c.txt", []byte("tool")); err != nil || get(t, filepath.Join(o.Folder, "c.txt")) != "tool" {
		t.Errorf("%v", err)
	}
	if _, err := s.Set().Read.ReadFile(t.Context(), "/etc/passwd", 0); !errors.Is(err, ops.ErrOutside) {
		t.Errorf("a file outside: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(o.Folder, ".piremote*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the proof left %q, %v", left, err)
	}
	r := s.Report()
	if r.Copied != "" || r.User != "1001:1001" || r.ID == "" || !strings.HasPrefix(r.Name, "piremote-") || !slices.Contains(r.Enforced, "there is no network") {
		t.Errorf("%+v", r)
	}
	if report := s.Remote().Report(); report.OS != "linux" || report.Hash == "" {
		t.Errorf("%+v", report)
	}
}

func TestSandboxHasNoPrivileges(t *testing.T) {
	t.Parallel()
	o := sandboxOptions(t)
	// A program that becomes root where privileges can be gained.
	busybox, err := os.ReadFile("/bin/busybox")
	must(t, err)
	suid := filepath.Join(o.Folder, "busybox")
	must(t, os.WriteFile(suid, busybox, 0o755))
	must(t, os.Chmod(suid, 0o755|os.ModeSetuid))
	s := sandbox(t, o)
	status := sh(t, s.Set(), "cat /proc/self/status /proc/1/status")
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if n := strings.Count(status, set+":\t0000000000000000\n"); n != 2 {
			t.Errorf("%s is not empty: %s", set, status)
		}
	}
	if strings.Count(status, "NoNewPrivs:\t1\n") != 2 {
		t.Errorf("privileges can be gained: %s", status)
	}
	const script = "./busybox su -s /bin/sh -c 'id -u' 2>&1 </dev/null"
	if got := fails(t, s.Set(), script); !strings.Contains(got, "must be suid to work properly") {
		t.Errorf("the setuid program said %q", got)
	}
	// The same program elsewhere, so that the test can fail.
	d := servers.StartDockerd(t)
	plain := opened(t, Options{
		Host: d.Host, Dir: "/ws", User: "1001:1001",
		Container: d.Run(t, servers.ContainerOptions{Binds: []string{o.Folder + ":/ws"}}),
	})
	if got := fails(t, plain, script); strings.Contains(got, "must be suid") {
		t.Errorf("the setuid program gains nothing anywhere: %q", got)
	}
	for _, script := range []string{"chown 0:0 a.txt", "kill -9 1", "mount -t tmpfs x /tmp", "echo x >/.piremote/x", "mknod /tmp/d c 1 3", "hostname x"} {
		fails(t, s.Set(), script)
	}
	if got := sh(t, s.Set(), "echo 'echo ran' >/tmp/x; chmod +x /tmp/x; /tmp/x; cp /tmp/x ~/x; ~/x"); got != "ran\nran\n" {
		t.Errorf("programs in /tmp and the home: %q", got)
	}
}

func TestSandboxHasNoNetwork(t *testing.T) {
	t.Parallel()
	s := sandbox(t, sandboxOptions(t))
	if got := sh(t, s.Set(), "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; tail -n +2 /proc/net/route"); got != "lo\n" {
		t.Errorf("there are %q", got)
	}
	if got := fails(t, s.Set(), "nc -w 5 192.0.2.1 80 2>&1 </dev/null"); !strings.Contains(got, "unreachable") {
		t.Errorf("a connection: %q", got)
	}
}

// writable prints every folder in which a file can be made. The root of /proc has none
// but those of processes, and /sys has its own test.
const writable = `find / \( -path /proc -o -path /sys \) -prune -o -type d -print 2>/dev/null | while read -r d; do
	{ true >"$d/.probe"; } 2>/dev/null && echo "$d" && rm "$d/.probe"; done; { true >/sys/.probe; } 2>/dev/null && echo /sys; true`

func TestSandboxWritesNowhereElse(t *testing.T) {
	t.Parallel()
	o := sandboxOptions(t)
	d := servers.StartDockerd(t)
	o.Image, o.Dir = d.Volume(t), "/srv/work"
	s := sandbox(t, o)
	const want = "/home/piremote\n/srv/work\n/tmp\n"
	sorted := func(text string) string {
		lines := strings.SplitAfter(text, "\n")
		slices.Sort(lines)
		return strings.Join(lines, "")
	}
	if got := sorted(sh(t, s.Set(), writable)); got != want {
		t.Errorf("files can be made in %q", got)
	}
	more := t.TempDir()
	own(t, more)
	o.Mounts = []string{more + ":/more", more + ":/less:ro", "tmpfs:/dev/shm", "tmpfs:/data"}
	wider := sandbox(t, o)
	if got := sorted(sh(t, wider.Set(), writable)); got != "/data\n/dev/shm\n"+strings.Replace(want, "/srv", "/more\n/srv", 1) {
		t.Errorf("with mounts, files can be made in %q", got)
	}
	if !slices.Contains(wider.Report().Enforced, "nothing can be written but /srv/work, /tmp, /home/piremote, /more, /dev/shm, /data") {
		t.Errorf("%q", wider.Report().Enforced)
	}
	// The same elsewhere, so that the test can fail.
	plain := opened(t, Options{
		Host: d.Host, Dir: "/spool", User: "1001:1001",
		Container: d.Run(t, servers.ContainerOptions{Image: d.Volume(t), Cmd: []string{"/bin/busybox", "sleep", "3600"}}),
	})
	if got := sorted(sh(t, plain, writable)); !strings.Contains(got, "/data\n") || !strings.Contains(got, "/spool\n") {
		t.Errorf("in an ordinary container files can be made in %q", got)
	}
}

func TestDKX08SandboxReaps(t *testing.T) {
	t.Parallel()
	s := sandbox(t, sandboxOptions(t))
	for range 5 {
		exit, err := s.Set().Bash.Exec(t.Context(), ops.Command{Script: "(sleep 0.1 &) ; (setsid sleep 300 &) ; sleep 300", Timeout: time.Second, Grace: 300 * time.Millisecond}, nil)
		if err != nil || !exit.TimedOut || len(exit.Survivors) > 0 {
			t.Errorf("%+v, %v", exit, err)
		}
	}
	if got := sh(t, s.Set(), "ps -o stat,comm | grep -c '^Z' || true"); got != "0\n" {
		t.Errorf("zombies: %s", sh(t, s.Set(), "ps -o pid,stat,comm"))
	}
}

func TestSandboxOfRootsFolderIsACopy(t *testing.T) {
	t.Parallel()
	o := sandboxOptions(t)
	must(t, os.Chown(o.Folder, 0, 0))
	must(t, os.Symlink("a.txt", filepath.Join(o.Folder, "link")))
	must(t, os.Chmod(filepath.Join(o.Folder, "a.txt"), 0o750))
	s := sandbox(t, o)
	if r := s.Report(); !strings.Contains(r.Copied, "root owns it") || r.User != "1000:1000" {
		t.Errorf("%+v", r)
	}
	if got := sh(t, s.Set(), "cat link; stat -c '%u:%g %a' . a.txt; echo new >a.txt; echo b >b.txt"); got != "hello\n1000:1000 755\n1000:1000 750\n" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(o.Folder, "b.txt")); !os.IsNotExist(err) || get(t, filepath.Join(o.Folder, "a.txt")) != "hello\n" {
		t.Errorf("the copy has changed the folder: %v", err)
	}
	o.User = "1001"
	named := sandbox(t, o)
	if got := sh(t, named.Set(), "id -u; cat a.txt"); got != "1001\nhello\n" || named.Report().Copied != "" {
		t.Errorf("with a user: %q, %+v", got, named.Report())
	}
}

func TestSandboxWithoutAShellHasFiles(t *testing.T) {
	t.Parallel()
	o := sandboxOptions(t)
	o.Image = servers.StartDockerd(t).NoShell(t)
	s := sandbox(t, o)
	if got, err := s.Set().Read.ReadFile(t.Context(), "/workspace/a.txt", 0); err != nil || string(got) != "hello\n" {
		t.Errorf("%q, %v", got, err)
	}
	if set := s.Set(); set.Bash != nil || !slices.ContainsFunc(set.Target.Weaker, func(w string) bool { return strings.Contains(w, "no shell") }) {
		t.Errorf("commands are offered: %q", set.Target.Weaker)
	}
}

// What goes wrong leaves no container and no claim.
func TestSandboxFailsWithoutLeftovers(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // of a case
		edit func(o *SandboxOptions)
		want string
	}{
		{"no such image", t.Context(), func(o *SandboxOptions) { o.Image = "127.0.0.1:1/no/such:1" }, "the image 127.0.0.1:1/no/such:1 is not at the daemon unix://"},
		{"no such network", t.Context(), func(o *SandboxOptions) { o.Network = "no-such-network" }, "network no-such-network not found"},
		{"unreadable", t.Context(), func(o *SandboxOptions) { must(t, os.Chmod(o.Folder, 0o700)); o.User = "1002" }, "1002:1002 may not read"},
		{"no helper", t.Context(), func(o *SandboxOptions) { o.Helpers = install.Bundle{} }, "a sandbox needs the helper"},
		{"canceled", canceled, func(*SandboxOptions) {}, "canceled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := sandboxOptions(t)
			c.edit(&o)
			s, err := OpenSandbox(c.ctx, o)
			if err == nil {
				must(t, s.Close())
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if left, err := os.ReadDir(o.StateDir); err != nil || len(left) > 0 {
				t.Errorf("claims %v, %v", left, err)
			}
		})
	}
}

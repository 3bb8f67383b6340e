package ssh

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/internal/require"
	"github.com/piremote/piremote/tools/ops"
)

// route is a client's home from which three real servers are known as first,
// second and last; none of them may be asked for another way than in that order.
type route struct {
	home                string
	first, second, last *servers.SSHD
}

func startRoute(t *testing.T) *route {
	t.Helper()
	open := func(s *servers.SSHD) servers.SSHDOptions {
		return servers.SSHDOptions{Config: []string{"PermitOpen " + s.Address()}}
	}
	r := &route{home: t.TempDir(), last: servers.StartSSHD(t, servers.SSHDOptions{})}
	r.second = servers.StartSSHD(t, open(r.last))
	r.first = servers.StartSSHD(t, open(r.second))
	return r
}

// open opens the last server by an ssh_config that knows all three, each with more
// lines of its own.
func (r *route) open(t *testing.T, second, last string) (*Workspace, error) {
	t.Helper()
	var config, known strings.Builder
	for _, h := range []struct {
		name, lines string
		s           *servers.SSHD
	}{{"first", "", r.first}, {"second", second, r.second}, {"last", last, r.last}} {
		fmt.Fprintf(&config, "Host %s\n HostName %s\n Port %d\n User %s\n IdentityFile %s\n IdentitiesOnly yes\n %s\n",
			h.name, h.s.Host, h.s.Port, h.s.User, h.s.IdentityFile, h.lines)
		known.Write(must2(t, h.s.KnownHosts))
	}
	must(t, os.MkdirAll(filepath.Join(r.home, ".ssh"), 0o700))
	must(t, os.WriteFile(filepath.Join(r.home, ".ssh", "config"), []byte(config.String()), 0o600))
	must(t, os.WriteFile(filepath.Join(r.home, ".ssh", "known_hosts"), []byte(known.String()), 0o600))
	return Open(t.Context(), Options{
		Host: "last", Home: r.home, LocalUser: "nobody", Dir: t.TempDir(), ConnectTimeout: time.Minute,
		Env: []string{"PATH=/usr/bin:/bin"}, Notice: func(s string) { t.Log(s) },
	})
}

// wantLogins counts how often each server let somebody in.
func (r *route) wantLogins(t *testing.T, what string, want ...int) {
	t.Helper()
	for i, s := range []*servers.SSHD{r.first, r.second, r.last} {
		got := func() int { return strings.Count(s.Log(), "Accepted publickey") }
		eventually(t, fmt.Sprintf("%s: %d logins at server %d", what, want[i], i+1), 30*time.Second, func() bool { return got() >= want[i] })
		if n := got(); n > want[i] {
			t.Errorf("%s: %d logins at server %d, want %d", what, n, i+1, want[i])
		}
	}
}

// wantWork runs a command, and writes and reads a file.
func wantWork(t *testing.T, what string, w *Workspace) {
	t.Helper()
	var out strings.Builder
	exit, err := w.Set().Bash.Exec(t.Context(), ops.Command{Script: "printf here", Dir: w.Set().Target.Dir}, func(c ops.Chunk) { out.Write(c.Data) })
	if err != nil || exit.Code != 0 || out.String() != "here" {
		t.Errorf("%s: %q, %+v, %v", what, out.String(), exit, err)
	}
	file := filepath.Join(w.Set().Target.Dir, "f")
	large := strings.Repeat("0123456789abcdef", 1<<16)
	if _, err := w.Set().Write.WriteFile(t.Context(), file, []byte(large)); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if got, err := w.Set().Read.ReadFile(t.Context(), file, 0); err != nil || string(got) != large {
		t.Errorf("%s: %d bytes, %v", what, len(got), err)
	}
}

// A chain of jump hosts is gone in its order, written as one list or host by host,
// and each host on the way is authenticated like the last (hazard SSHC-10).
func TestSSHC10ChainOfRealServers(t *testing.T) {
	r := startRoute(t)
	logins := 0
	for what, lines := range map[string][2]string{
		"a list":       {"", "ProxyJump first,second"},
		"host by host": {"ProxyJump first", "ProxyJump second"},
		"in full":      {"", fmt.Sprintf("ProxyJump first,%%r@second:%d", r.second.Port)},
	} {
		w, err := r.open(t, lines[0], lines[1])
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		wantWork(t, what, w)
		must(t, w.Close())
		logins++
		r.wantLogins(t, what, logins, logins, logins)
	}

	_, err := r.open(t, "", "ProxyJump first") // which may not forward to there
	wantKind(t, "a jump host that does not forward", err, ops.KindUnavailable, r.last.Address(), "first")
	r.wantLogins(t, "a jump host that does not forward", logins+1, logins, logins)

	must(t, os.WriteFile(r.second.KnownHosts, nil, 0o600))
	_, err = r.open(t, "", "ProxyJump first,second")
	wantKind(t, "a jump host with an unknown key", err, ops.KindHostKey, r.second.Address())
	r.wantLogins(t, "a jump host with an unknown key", logins+2, logins, logins)
}

// The program of a ProxyCommand is the connection, and ends with it (hazard SSHC-10).
func TestSSHC10ProxyCommandToARealServer(t *testing.T) {
	r := startRoute(t)
	if _, err := exec.LookPath("busybox"); err != nil {
		require.Missing(t, "busybox", "package busybox-static")
	}
	if _, err := exec.LookPath("ssh"); err != nil {
		require.Missing(t, "ssh", "package openssh-client")
	}
	own := fmt.Sprintf("-F %s/.ssh/config -o UserKnownHostsFile=%[1]s/.ssh/known_hosts", r.home)
	for _, c := range []struct {
		name, second, last string
		logins             [3]int
	}{
		{"a program that copies", "", "ProxyCommand busybox nc %h %p", [3]int{0, 0, 1}},
		{"a line of the shell", "", `ProxyCommand sh -c "exec busybox nc '%h' %p" # as it is`, [3]int{0, 0, 2}},
		{"ssh", "ProxyCommand ssh " + own + " -W %h:%p first", "ProxyCommand ssh " + own + " -W %h:%p second", [3]int{1, 1, 3}},
		{"behind a jump host", "ProxyCommand busybox nc %h %p", "ProxyJump second", [3]int{1, 2, 4}},
	} {
		w, err := r.open(t, c.second, c.last)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		wantWork(t, c.name, w)
		must(t, w.Close())
		r.wantLogins(t, c.name, c.logins[:]...)
	}
	eventually(t, "the end of the programs", 30*time.Second, func() bool {
		return !running(t, fmt.Sprintf("nc\x00%s\x00%d", r.last.Host, r.last.Port)) && !running(t, r.home)
	})
}

// running reports whether a process other than this one has the text in its command
// line, in which arguments end with NUL.
func running(t *testing.T, text string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(line), text) && filepath.Base(filepath.Dir(f)) != fmt.Sprint(os.Getpid()) {
			return true
		}
	}
	return false
}

//go:build linux

package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/tools/ops"
)

func TestExecOnARealServer(t *testing.T) {
	g := openTarget(t, servers.StartSSHD(t, servers.SSHDOptions{}), nil)
	out, exit, err := g.run(t.Context(), "pwd; echo err >&2; exit 3")
	if err != nil || exit.Code != 3 || !strings.Contains(out, g.dir+"\n") || !strings.Contains(out, "err\n") {
		t.Errorf("SSHX-07: %q, %+v, %v", out, exit, err)
	}
	_, err = g.Set().Bash.Exec(t.Context(), ops.Command{Script: "touch ran", Dir: g.dir + "/none"}, func(ops.Chunk) {})
	if _, serr := os.Stat(g.dir + "/ran"); err == nil || serr == nil {
		t.Errorf("SSHX-07: ran in a folder that is not there: %v", err)
	}
	pid := filepath.Join(g.dir, "pid")
	exit, err = g.Set().Bash.Exec(t.Context(), ops.Command{
		Script: "sleep 600 & echo $! >pid; wait", Dir: g.dir, Timeout: time.Second, Grace: 200 * time.Millisecond,
	}, func(ops.Chunk) {})
	if err != nil || !exit.TimedOut {
		t.Errorf("SSHX-01: %+v, %v", exit, err)
	}
	data, err := os.ReadFile(pid)
	must(t, err)
	eventually(t, "SSHX-01: the end of the process", 10*time.Second, func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(data)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Second, cancel)
	_, _, err = g.run(ctx, "sleep 600")
	wantIs(t, "aborted", err, context.Canceled)
}

func TestSSHX05RealServerWithFewSessions(t *testing.T) {
	for _, n := range []int{1, 10} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			g := openTarget(t, servers.StartSSHD(t, servers.SSHDOptions{Config: []string{fmt.Sprintf("MaxSessions %d", n)}}), nil)
			p := g.put(t, "f", "content", 0o644)
			var wg sync.WaitGroup
			for range 12 {
				wg.Go(func() {
					if got, err := g.Set().Read.ReadFile(t.Context(), p, 0); err != nil || string(got) != "content" {
						t.Errorf("%q, %v", got, err)
					}
				})
			}
			for range 4 {
				wg.Go(func() {
					if out, _, err := g.run(t.Context(), "echo x"); err != nil || out != "x\n" {
						t.Errorf("%q, %v", out, err)
					}
				})
			}
			wg.Wait()
			// Ending a command needs a channel beside the command's own.
			exit, err := g.Set().Bash.Exec(t.Context(), ops.Command{Script: "sleep 600", Dir: g.dir, Timeout: 300 * time.Millisecond, Grace: 100 * time.Millisecond}, func(ops.Chunk) {})
			if err != nil || !exit.TimedOut || len(exit.Survivors) > 0 {
				t.Errorf("%+v, %v", exit, err)
			}
		})
	}
}

func TestNoSFTPSubsystem(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{NoSFTP: true})
	g := openTarget(t, s, nil)
	if g.clients == nil {
		t.Fatal("the SFTP server was not found by exec")
	}
	p := g.put(t, "f", "x", 0o644)
	if got, err := g.Set().Read.ReadFile(t.Context(), p, 0); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSSHX09InternalSFTPOnly(t *testing.T) {
	g := openTarget(t, servers.StartSSHD(t, servers.SSHDOptions{Config: []string{"ForceCommand internal-sftp"}}), nil)
	p := filepath.Join(g.dir, "f")
	if _, err := g.Set().Write.WriteFile(t.Context(), p, []byte("x")); err != nil {
		t.Error(err)
	}
	if g.Set().Bash != nil || !strings.Contains(g.notices.String(), "file tools only") {
		t.Errorf("bash %v, notices %s", g.Set().Bash, g.notices)
	}
}

func TestHomeAndTilde(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	o, _ := optionsFor(t, s)
	o.Dir, o.Root = "~", "/"
	w, err := Open(t.Context(), o)
	must(t, err)
	defer func() { must(t, w.Close()) }()
	target := w.Set().Target
	if target.Home == "" || target.Root != "" {
		t.Errorf("target %+v", target)
	}
	o.Dir = "~/no-such-folder-of-a-test"
	_, err = Open(t.Context(), o)
	wantKind(t, "no folder", err, ops.KindUnavailable, "no-such-folder-of-a-test")
	o.Dir = "relative"
	_, err = Open(t.Context(), o)
	wantKind(t, "relative", err, ops.KindUnavailable, "absolute")
}

func TestSSHC10ProxyJumpAndCommandAreUsed(t *testing.T) {
	last := startFake(t, func(f *fakeServer) { f.subsystem = realSFTP })
	bastion := servers.StartSSHD(t, servers.SSHDOptions{})
	home := bastion.Home
	kh, err := os.ReadFile(filepath.Join(home, ".ssh", "known_hosts"))
	must(t, err)
	mine, err := os.ReadFile(filepath.Join(last.home(t), ".ssh", "known_hosts"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(home, ".ssh", "known_hosts"), append(kh, mine...), 0o600))
	o := last.options(t)
	o.Home, o.ConfigFile = home, filepath.Join(home, ".ssh", "config")
	write := func(text string) { must(t, os.WriteFile(o.ConfigFile, []byte(text), 0o600)) }
	openIt := func(what string) {
		t.Helper()
		w, err := Open(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		if _, err := w.Set().Ls.Stat(t.Context(), "/"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		must(t, w.Close())
	}
	jump := fmt.Sprintf("%s@%s:%d", bastion.User, bastion.Host, bastion.Port)
	write("Host target\n  HostName 127.0.0.1\n  ProxyJump " + jump + "\n")
	o.Host = "target"
	openIt("ProxyJump")
	write("Host target\n  HostName 127.0.0.1\n  ProxyJump nobody@127.0.0.1:1\n")
	before := last.connections()
	_, err = Open(t.Context(), o)
	wantKind(t, "a bastion that is not there", err, ops.KindUnavailable, "127.0.0.1:1")
	write("Host target\n  HostName 127.0.0.1\n  ProxyCommand exit 1\n")
	_, err = Open(t.Context(), o)
	wantKind(t, "a command that fails", err, ops.KindUnavailable)
	write("Host a b\n  ProxyJump b,a\nHost target\n  HostName 127.0.0.1\n  ProxyJump a\n")
	_, err = Open(t.Context(), o)
	wantKind(t, "a circle", err, ops.KindUnavailable)
	if last.connections() != before {
		t.Error("there was a direct connection")
	}
	if program := relay(t); program != "" {
		write("Host target\n  HostName 127.0.0.1\n  ProxyCommand " + program + "\n")
		openIt("ProxyCommand")
	}
}

// relay returns a command line that copies between its streams and a host.
func relay(t *testing.T) string {
	for _, c := range []string{"/bin/busybox nc %h %p", "/bin/nc %h %p"} {
		if _, err := os.Stat(strings.Fields(c)[0]); err == nil {
			return c
		}
	}
	t.Log("no program for a ProxyCommand")
	return ""
}

func TestDialASocketOfTheHost(t *testing.T) {
	g := openTarget(t, servers.StartSSHD(t, servers.SSHDOptions{}), nil)
	l, err := net.Listen("unix", g.outside[:len(g.outside)-len("ws-out")]+"s")
	if err != nil {
		t.Skip(err) // the path is too long here
	}
	defer func() { _ = l.Close() }()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	h, err := NewHost(t.Context(), g.options)
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	c, err := h.Dial(t.Context(), "unix", l.Addr().String())
	must(t, err)
	_, err = io.WriteString(c, "ping")
	must(t, err)
	buf := make([]byte, 4)
	if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "ping" {
		t.Errorf("%q, %v", buf, err)
	}
	closer, ok := c.(interface{ CloseWrite() error })
	if !ok {
		t.Fatal("one direction can't be ended")
	}
	must(t, closer.CloseWrite())
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 { // the other side has seen the end
		t.Errorf("%q, %v", rest, err)
	}
	must(t, c.Close())
	if _, err := c.Read(buf); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("after Close: %v", err)
	}
	_, err = h.Dial(t.Context(), "unix", "/none/socket")
	wantKind(t, "no socket", err, ops.KindUnavailable, "/none/socket")
	if said, code, err := h.Ask(t.Context(), "sh", "-c", "echo out; echo err >&2; exit 3"); said != "out\n" || code != 3 || err != nil {
		t.Errorf("%q, %d, %v", said, code, err)
	}
	p, err := h.Start(t.Context(), "cat")
	must(t, err)
	_, err = io.WriteString(p, "pong")
	must(t, err)
	if _, err := io.ReadFull(p, buf); err != nil || string(buf) != "pong" {
		t.Errorf("%q, %v", buf, err)
	}
	must(t, p.Close())
}

func TestDiagnose(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	o, _ := optionsFor(t, s)
	names := map[string]bool{}
	for _, f := range Diagnose(t.Context(), o) {
		names[f.Name] = f.OK
		t.Logf("%+v", f)
	}
	for _, n := range []string{"name", "TCP", "banner", "key exchange", "host key", "authentication", "shell", "login shell", "start-up files", "SFTP"} {
		if !names[n] {
			t.Errorf("%s is not fine", n)
		}
	}
	must(t, os.WriteFile(o.KnownHosts[0], nil, 0o600))
	list := Diagnose(t.Context(), o)
	if last := list[len(list)-1]; last.Name != "host key" || last.OK || last.Mend == "" {
		t.Errorf("unknown key: %+v", last)
	}
	o.Port = 1
	list = Diagnose(t.Context(), o)
	if last := list[len(list)-1]; last.Name != "TCP" || last.OK {
		t.Errorf("nothing listens: %+v", last)
	}
}

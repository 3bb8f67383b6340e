//go:build linux

package docker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/tools/ops"
)

// opened opens a workspace on a real container and closes it with the test.
func opened(t *testing.T, o Options) ops.Set {
	t.Helper()
	w, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() }) // the container may be gone by then
	return w.Set()
}

// sh runs a command and returns its output.
func sh(t *testing.T, set ops.Set, script string) string {
	t.Helper()
	var out strings.Builder
	exit, err := set.Bash.Exec(t.Context(), ops.Command{Script: script, Timeout: time.Minute}, func(c ops.Chunk) { out.Write(c.Data) })
	if err != nil || exit.Code != 0 || exit.TimedOut {
		t.Fatalf("%s: %+v, %v, %q", script, exit, err, out.String())
	}
	return out.String()
}

func TestDKF02TmpfsIsOneForFilesAndCommands(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{Tmpfs: map[string]string{"/ws": ""}, ReadOnly: true})
	set := opened(t, Options{Host: d.Host, Container: name, Dir: "/ws"})
	if _, err := set.Write.WriteFile(t.Context(), "/ws/a.txt", []byte("written")); err != nil {
		t.Fatal(err)
	}
	if got := sh(t, set, "cat a.txt; printf seen >b.txt"); got != "written" {
		t.Errorf("the command sees %q", got)
	}
	if got, err := set.Read.ReadFile(t.Context(), "/ws/b.txt", 0); err != nil || string(got) != "seen" {
		t.Errorf("read %q, %v", got, err)
	}
	if set.Target.Label != "docker://"+name+"/ws" || set.Target.Backend != "docker" || set.Target.OS != "linux" {
		t.Errorf("%+v", set.Target)
	}
	outside := opened(t, Options{Host: d.Host, Container: name, Dir: "/ws", Root: "/"})
	if _, err := outside.Write.WriteFile(t.Context(), "/etc/passwd", []byte("x")); !errors.Is(err, ops.ErrReadOnly) {
		t.Errorf("write on a read-only root: %v", err)
	}
}

func TestDKF05OwnerAndModeAreKept(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{})
	root := opened(t, Options{Host: d.Host, Container: name, Dir: "/ws"})
	sh(t, root, "mkdir 'a b' sg; cd 'a b'; echo old >run.sh; chmod 0751 run.sh; chown -R 1001:1001 . ../sg; chmod 2775 ../sg; chgrp 1001 ../sg")
	user := opened(t, Options{Host: d.Host, Container: name, Dir: "/ws", User: "1001:1001"})
	for _, w := range []struct {
		set  ops.Set
		file string
	}{{user, "/ws/a b/run.sh"}, {root, "/ws/a b/run.sh"}, {user, "/ws/a b/new"}, {root, "/ws/sg/by-root"}} {
		if _, err := w.set.Write.WriteFile(t.Context(), w.file, []byte("new")); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := sh(t, root, "stat -c '%u:%g %a %n' 'a b/run.sh' 'a b/new' sg/by-root"), "1001:1001 751 a b/run.sh\n1001:1001 644 a b/new\n0:1001 644 sg/by-root\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := sh(t, user, "id -u; echo $HOME"); got != "1001\n/home/user\n" {
		t.Errorf("%q", got)
	}
}

// Connections of four kinds: a socket; one that can't close one direction; a
// proxy that closes both when one is closed; TCP with TLS.
func TestDKX04DKF01LargeContentIsExact(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{})
	socket := strings.TrimPrefix(d.Host, "unix://")
	for kind, o := range map[string]Options{
		"socket": {Host: d.Host},
		"no half-close": {Host: "ssh://x", Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
			return struct{ net.Conn }{conn}, err
		}},
		"full close": {Host: fullCloseProxy(t, socket)},
		"TLS":        tlsProxy(t, socket),
	} {
		o.Container, o.Dir = name, "/ws"
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			set := opened(t, o)
			source := rand.NewChaCha8(sha256.Sum256([]byte(kind)))
			file := "/ws/" + strings.ReplaceAll(kind, " ", "-")
			for _, size := range []int{0, 1, 128 << 10, 5 << 20} {
				data := make([]byte, size)
				_, _ = source.Read(data)
				if _, err := set.Write.WriteFile(t.Context(), file, data); err != nil {
					t.Fatalf("%d bytes: %v", size, err)
				}
				if got, want := sh(t, set, "sha256sum <"+file), fmt.Sprintf("%x  -\n", sha256.Sum256(data)); got != want {
					t.Errorf("%d bytes: the hash is %s, want %s", size, got, want)
				}
				if got, err := set.Read.ReadFile(t.Context(), file, 0); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes: read %d, %v", size, len(got), err)
				}
			}
			if got := sh(t, set, ": "+strings.Repeat("x", 200<<10)+"\necho end"); got != "end\n" {
				t.Errorf("a long command printed %q", got)
			}
		})
	}
}

// fullCloseProxy forwards to a socket and, when the client closes its
// direction, closes everything at once.
func fullCloseProxy(t *testing.T, socket string) (host string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	t.Cleanup(func() { _ = l.Close() })
	group.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).Dial("unix", socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			closeBoth := func() { _, _ = client.Close(), server.Close() }
			group.Go(func() { _, _ = io.Copy(server, client); closeBoth() })
			group.Go(func() { _, _ = io.Copy(client, server); closeBoth() })
		}
	})
	return "tcp://" + l.Addr().String()
}

// The command and its end are two processes that are started in the container, however
// many the command has: a busy machine does not change that number.
func TestDKX01TimeoutLeavesNothing(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	o := Options{Host: d.Host, Container: d.Run(t, servers.ContainerOptions{}), Dir: "/ws"}
	var daemon requests
	daemon.watch(&o)
	set := opened(t, o)
	// The arguments are unique on the machine, whose /proc shows the container's processes.
	stamp := fmt.Sprint(7_000_000 + time.Now().UnixNano()%900_000)
	script := "sleep " + stamp + ".1 & (trap '' TERM HUP; exec sleep " + stamp + ".2) & setsid sleep " + stamp + ".3 & (sleep " + stamp + ".4 &) ; echo ready; sleep " + stamp + ".5"
	for _, how := range []string{"timeout", "abort"} {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := ops.Command{Script: script, Grace: 500 * time.Millisecond}
		if how == "timeout" {
			cmd.Timeout = 4 * time.Second
		}
		alive := 0
		daemon.take()
		exit, err := set.Bash.Exec(ctx, cmd, func(c ops.Chunk) {
			if !bytes.Contains(c.Data, []byte("ready")) {
				return
			}
			for deadline := time.Now().Add(4 * time.Second); alive < 5 && time.Now().Before(deadline); {
				alive = processes(t, stamp)
			}
			if how == "abort" {
				cancel()
			}
		})
		cancel()
		if alive < 5 {
			t.Fatalf("%s: only %d of 5 processes were seen alive", how, alive)
		}
		if (how == "timeout") != exit.TimedOut || (how == "abort") != errors.Is(err, context.Canceled) || how == "timeout" && err != nil {
			t.Errorf("%s: %+v, %v", how, exit, err)
		}
		if n := processes(t, stamp); n > 0 || len(exit.Survivors) > 0 || exit.Killed < 5 {
			t.Errorf("%s: %d processes are left; %+v", how, n, exit)
		}
		if n := daemon.count("POST /exec/start"); n != 2 {
			t.Errorf("%s: the command and its end took %d processes in the container, want 2", how, n)
		}
	}
}

// processes counts the sleeps whose first argument begins with stamp.
func processes(t *testing.T, stamp string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if argv, err := os.ReadFile(file); err == nil && bytes.HasPrefix(argv, []byte("sleep\x00"+stamp)) {
			n++
		}
	}
	return n
}

func TestDKX02RealExitCodes(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	set := opened(t, Options{Host: d.Host, Container: d.Run(t, servers.ContainerOptions{}), Dir: "/ws"})
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for range often(1, 5) {
				exit, err := set.Bash.Exec(t.Context(), ops.Command{Script: fmt.Sprintf("exit %d", worker*7)}, nil)
				if err != nil || exit.Code != worker*7 {
					t.Errorf("exit %d: %+v, %v", worker*7, exit, err)
				}
			}
		})
	}
	group.Wait()
}

func TestDKX07RealContainerEndsDuringACall(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	for _, c := range []struct {
		name string
		do   func(tb testing.TB, container string)
		want string
	}{
		{"pause", d.Pause, "is paused"},
		{"remove", d.Remove, "does not exist|is being removed"},
		{"stop", d.Stop, "is not running"},
		{"restart", d.Restart, "restarted|is not running"}, // it may be looked at between the two
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name := d.Run(t, servers.ContainerOptions{})
			set := opened(t, Options{Host: d.Host, Container: name, Dir: "/ws"})
			var out strings.Builder
			var ended time.Time
			var once sync.Once // the output may come in pieces
			_, err := set.Bash.Exec(t.Context(), ops.Command{Script: "echo begun; sleep 600"}, func(p ops.Chunk) {
				out.Write(p.Data)
				once.Do(func() { c.do(t, name); ended = time.Now() })
			})
			if took := time.Since(ended); took > 5*time.Second {
				t.Errorf("it took %v to notice", took)
			}
			if ops.KindOf(err) == "" || !regexp.MustCompile(c.want).MatchString(err.Error()) || !strings.Contains(err.Error(), name) || out.String() != "begun\n" {
				t.Errorf("%q, %v, want %q", out.String(), err, c.want)
			}
			switch c.name {
			case "pause":
				if _, err := set.Read.ReadFile(t.Context(), "/etc/passwd", 0); ops.KindOf(err) != ops.KindUnavailable && !errors.Is(err, ops.ErrOutside) {
					t.Errorf("a call on a paused container: %v", err)
				}
				d.Unpause(t, name)
				fallthrough
			case "restart":
				if got := sh(t, set, "sleep 3; echo alive"); got != "alive\n" {
					t.Errorf("afterwards: %q", got)
				}
			}
		})
	}
}

func TestDKX07CallsWorkAfterARestart(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{})
	var mu sync.Mutex
	var notices []string
	set := opened(t, Options{Host: d.Host, Container: name, Dir: "/ws", Helper: helper.Never, Notice: func(s string) {
		mu.Lock()
		defer mu.Unlock()
		notices = append(notices, s)
	}})
	d.Restart(t, name)
	if got := sh(t, set, "sleep 3; echo alive"); got != "alive\n" { // longer than the watch's interval
		t.Errorf("%q", got)
	}
	if len(notices) != 1 || !strings.Contains(notices[0], name) {
		t.Errorf("notices %q", notices)
	}
}

func TestDKX11RealContainerIsPinned(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{})
	d.Run(t, servers.ContainerOptions{Name: name + "2"})
	id := d.ID(t, name)
	set := opened(t, Options{Host: d.Host, Container: id[:12], Dir: "/ws"})
	if set.Target.Label != "docker://"+name+"/ws" {
		t.Errorf("label %q", set.Target.Label)
	}
	d.Remove(t, name)
	d.Run(t, servers.ContainerOptions{Name: name})
	_, err := set.Ls.Stat(t.Context(), "/ws")
	if ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), "another one") {
		t.Errorf("a container that was replaced: %v", err)
	}
	if _, err := Open(t.Context(), Options{Host: d.Host, Container: name[:len(name)-1]}); ops.KindOf(err) != ops.KindUnavailable {
		t.Errorf("a part of a name: %v", err)
	}
}

func TestDKF06NoShellIsNamed(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{Image: d.NoShell(t), Cmd: servers.NoShellCmd()})
	for _, shell := range []string{"", "/no/such/shell"} {
		_, err := Open(t.Context(), Options{Host: d.Host, Container: name, ShellPath: shell})
		if ops.KindOf(err) != ops.KindNoShell || !strings.Contains(err.Error(), name) {
			t.Errorf("%v", err)
		}
	}
	_, err := Open(t.Context(), Options{Host: d.Host, Container: name, User: "no-such-user"})
	if ops.KindOf(err) == "" || !strings.Contains(err.Error(), "no-such-user") {
		t.Errorf("an unknown user: %v", err)
	}
}

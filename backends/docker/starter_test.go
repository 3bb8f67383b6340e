//go:build linux

package docker

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/tools/ops"
)

var (
	_ install.Carrier = starter{}
	_ install.Process = (*attached)(nil)
)

// starterOn reaches a container.
func starterOn(t *testing.T, d *servers.Dockerd, name string, change func(*Options)) starter {
	t.Helper()
	o := Options{Host: d.Host, Container: name}
	if change != nil {
		change(&o)
	}
	r, _, err := reach(t.Context(), o)
	if r != nil {
		t.Cleanup(func() { _ = r.daemon.Close() })
	}
	if err != nil {
		t.Fatal(err)
	}
	return starter{r}
}

// talk checks that a stream is that of the echoing helper, and ends it.
func talk(t *testing.T, s *install.Stream) {
	t.Helper()
	greeting := make([]byte, len(helpertest.EchoGreeting(0)))
	if _, err := io.ReadFull(s, greeting); err != nil || !strings.HasPrefix(string(greeting), "hello 32 ") || !strings.HasSuffix(string(greeting), " []\n") {
		t.Errorf("the helper says %q, %v", greeting, err)
	}
	data := strings.Repeat("\x00\xff\r\nsome bytes", 20_000)
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(s, data)
		sent <- err
	}()
	got := make([]byte, len(data))
	if _, err := io.ReadFull(s, got); err != nil || string(got) != data {
		t.Errorf("the echo is broken: %v", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if err := s.CloseWrite(); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, s); err != nil {
		t.Error(err)
	}
	if exit, err := s.Wait(t.Context()); err != nil || exit.Code != 7 || exit.Stderr != "bye\n" {
		t.Errorf("%+v, %v", exit, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestHelperStartsInContainers(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	b := helpertest.Echo(t)
	name := b.Programs()[0].Hash
	for what, c := range map[string]struct {
		container servers.ContainerOptions
		user      string
		path      string
		execs     int // of the second start
	}{
		"root":                            {servers.ContainerOptions{}, "", "/root/.cache/piremote/helper-" + name, 1},
		"an account without a name":       {servers.ContainerOptions{}, "12345:12345", "/tmp/piremote-12345/helper-" + name, 1},
		"an account":                      {servers.ContainerOptions{}, "1001", "/home/user/.cache/piremote/helper-" + name, 1},
		"read-only with a memory folder":  {servers.ContainerOptions{ReadOnly: true, Tmpfs: map[string]string{"/tmp": "exec,mode=1777"}}, "1001", "/tmp/piremote-1001/helper-" + name, 1},
		"noexec memory folders elsewhere": {servers.ContainerOptions{Tmpfs: map[string]string{"/root": "noexec,mode=700", "/var/tmp": "noexec"}}, "", "/tmp/piremote-0/helper-" + name, 1},
		"no shell":                        {servers.ContainerOptions{Image: d.NoShell(t), Cmd: servers.NoShellCmd()}, "", "/.piremote/helper-" + name, 3},
		"no shell, an account":            {servers.ContainerOptions{Image: d.NoShell(t), Cmd: servers.NoShellCmd()}, "12345:12345", "/.piremote/helper-" + name, 3},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			st := starterOn(t, d, d.Run(t, c.container), func(o *Options) { o.User = c.user })
			for i := range 2 {
				s, r, err := install.Start(t.Context(), st, b, install.Options{})
				if err != nil {
					t.Fatal(err)
				}
				talk(t, s)
				if r.Path != c.path || r.Uploaded != (i == 0) || i > 0 && r.Execs != c.execs || r.Hash != name {
					t.Errorf("start %d: %+v", i+1, r)
				}
			}
		})
	}
}

// Where the helper can't be, the reasons are told and other means may serve.
func TestContainersThatTakeNoHelper(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	b := helpertest.Echo(t)
	for what, c := range map[string]struct {
		container servers.ContainerOptions
		words     []string
	}{
		"read-only": {servers.ContainerOptions{ReadOnly: true}, []string{"no folder can hold the helper", "Read-only file system", "read-only"}},
		"read-only without a shell": {
			servers.ContainerOptions{Image: d.NoShell(t), Cmd: servers.NoShellCmd(), ReadOnly: true},
			[]string{"/bin/sh can't be started", "no such file", "can't be copied into container", "read-only"},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, _, err := install.Start(t.Context(), starterOn(t, d, d.Run(t, c.container), nil), b, install.Options{})
			if !errors.As(err, new(*install.CannotRunError)) {
				t.Fatalf("%v", err)
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			t.Log(err)
		})
	}
}

// What is in the helper's place in a container without a shell is read before each
// start, and replaced if it is something else.
func TestAChangedHelperWithoutAShellIsReplaced(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	b := helpertest.Echo(t)
	st := starterOn(t, d, d.Run(t, servers.ContainerOptions{Image: d.NoShell(t), Cmd: servers.NoShellCmd()}), nil)
	file := "helper-" + b.Programs()[0].Hash
	program, err := b.Programs()[0].Bytes()
	if err != nil {
		t.Fatal(err)
	}
	changed := append([]byte{}, program...)
	changed[len(changed)/2] ^= 1
	for what, data := range map[string][]byte{"changed": changed, "longer": append(append([]byte{}, program...), 0), "empty": {}} {
		if err := st.Put(t.Context(), "/.piremote", file, data); err != nil {
			t.Fatal(err)
		}
		s, r, err := install.Start(t.Context(), st, b, install.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Uploaded {
			t.Errorf("%s: %+v", what, r)
		}
		talk(t, s)
	}
}

// Clients that come at the same moment don't disturb each other, whichever has the
// helper copied first.
func TestManyClientsWithoutAShellAtTheSameMoment(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	b := helpertest.Echo(t)
	name := d.Run(t, servers.ContainerOptions{Image: d.NoShell(t), Cmd: servers.NoShellCmd()})
	var all sync.WaitGroup
	for range 3 {
		st := starterOn(t, d, name, nil)
		all.Go(func() {
			s, _, err := install.Start(t.Context(), st, b, install.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			talk(t, s)
		})
	}
	all.Wait()
}

// A container or a daemon that can't be reached is no reason for other means.
func TestStartWhereTheContainerIsGone(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	b := helpertest.Echo(t)
	for what, end := range map[string]func(t *testing.T, name string){
		"removed": func(t *testing.T, name string) { t.Helper(); d.Remove(t, name) },
		"stopped": func(t *testing.T, name string) { t.Helper(); d.Stop(t, name) },
		"paused":  func(t *testing.T, name string) { t.Helper(); d.Pause(t, name) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name := d.Run(t, servers.ContainerOptions{})
			st := starterOn(t, d, name, nil)
			end(t, name)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, _, err := install.Start(ctx, st, b, install.Options{})
			if ops.KindOf(err) != ops.KindUnavailable || errors.As(err, new(*install.CannotRunError)) || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		})
	}
}

// The helper ends with its container, and reading says so.
func TestHelperEndsWithItsContainer(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{})
	s, _, err := install.Start(t.Context(), starterOn(t, d, name, nil), helpertest.Echo(t), install.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d.Stop(t, name)
	if _, err := io.Copy(io.Discard, s); err != nil {
		t.Error(err)
	}
	if exit, err := s.Wait(t.Context()); ops.KindOf(err) == "" {
		t.Errorf("%+v, %v", exit, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A daemon's words in the place of a program that it could not start are no output of
// the program: who speaks with it is told the reason, and may try again.
func TestDKX02StartFailureIsNoOutput(t *testing.T) {
	t.Parallel()
	const text = "OCI runtime exec failed: exec failed: cannot exec in a stopped container: unknown"
	for _, c := range []struct {
		said string
		out  string
		kind ops.Kind
	}{
		{text + "\r\n", "", ops.KindUnavailable},
		{"\x00\x01" + text, "\x00\x01" + text, ""},
	} {
		f := newFake(t)
		f.start = func(conn net.Conn) {
			for _, b := range []string{frame(1, c.said), frame(1, "")} {
				_, _ = io.WriteString(conn, b)
			}
		}
		f.code = func(int) string { return `{"Running":false,"ExitCode":126}` }
		p, err := starter{f.runner(t, Options{})}.Exec(t.Context(), []string{"/helper"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(p)
		if string(got) != c.out || ops.KindOf(err) != c.kind || (err == nil) != (c.kind == "") || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%q: read %q, %v", c.said, got, err)
		}
		if _, err := p.Wait(t.Context()); ops.KindOf(err) != c.kind {
			t.Errorf("%q: %v", c.said, err)
		}
		_ = p.Close()
	}
}

// A sandbox in which the daemon could not start the helper again is restarted, once.
func TestDKX07SandboxThatTakesNoHelperIsRestarted(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.code = func(int) string { return `{"Running":false,"ExitCode":126}` }
	said := "cannot exec in a stopped state: unknown"
	f.start = func(conn net.Conn) { _, _ = io.WriteString(conn, frame(1, said)) }
	v := reviver{starter{f.runner(t, Options{})}, 0}
	start := func() error {
		p, err := v.Exec(t.Context(), []string{"/helper"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = p.Close() }()
		_, err = io.ReadAll(p)
		return err
	}
	for i, c := range []struct {
		said     string
		kind     ops.Kind
		restarts int
	}{{"\x00", "", 0}, {said, ops.KindUnavailable, 0}, {"\x00", "", 1}, {"\x00", "", 1}} {
		said = c.said
		if err := start(); ops.KindOf(err) != c.kind || (err == nil) != (c.kind == "") {
			t.Errorf("start %d: %v", i, err)
		}
		if n := f.seen("POST /v1.41/containers/" + fakeID + "/restart"); n != c.restarts {
			t.Errorf("after start %d: %d restarts, want %d", i, n, c.restarts)
		}
	}
}

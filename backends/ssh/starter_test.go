//go:build linux

package ssh

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/tools/ops"
)

var (
	_ install.Exec    = starter{}
	_ install.Process = (*process)(nil)
)

// starterOn connects to a server, perhaps by way of a proxy.
func starterOn(t *testing.T, s *servers.SSHD, change func(*Options)) starter {
	t.Helper()
	o, _ := optionsFor(t, s)
	if change != nil {
		change(&o)
	}
	o = o.withDefaults()
	h, err := resolve(t.Context(), o, o.Host, o.User, o.Port)
	must(t, err)
	c := newConnection(o, h)
	t.Cleanup(c.close)
	_, err = c.get(t.Context())
	must(t, err)
	return starter{c}
}

// talk checks that a stream is that of the echoing helper.
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
	must(t, <-sent)
}

// Whatever the login shell is and its start-up file says, the first start sends the
// helper and each later one takes two round trips: to open a channel, and to be
// answered (hazards SSHX-02, SSHX-06, SSHC-06).
func TestSSHX06SSHC06HelperStartsUnderAnyLoginShell(t *testing.T) {
	b := helpertest.Echo(t)
	for shell, rc := range map[string]string{"bash": ".bashrc", "fish": ".config/fish/config.fish", "tcsh": ".tcshrc", "dash": ".profile"} {
		t.Run(shell, func(t *testing.T) {
			s := servers.StartSSHD(t, servers.SSHDOptions{Login: &servers.Login{
				UID: 1001, Shell: shell, Files: map[string]string{rc: "echo welcome to this machine\necho more noise\n"},
			}})
			proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address(), Delay: delay})
			must(t, err)
			defer func() { must(t, proxy.Close()) }()
			st := starterOn(t, s, func(o *Options) { o.Port, o.AcceptNew = proxy.Port(), true })
			folder := s.AccountHome + "/.cache/piremote"
			start := func(uploaded bool) (trips int) {
				quiet(t, proxy)
				proxy.ResetCounts()
				stream, r, err := install.Start(t.Context(), st, b, install.Options{})
				must(t, err)
				trips = (proxy.Counts().Switches + 1) / 2
				t.Logf("%d round trips, %d bytes sent", trips, r.Sent)
				if r.Uploaded != uploaded || filepath.Dir(r.Path) != folder || r.Execs != 1 || len(r.Passed) > 0 {
					t.Errorf("%+v", r)
				}
				talk(t, stream)
				must(t, stream.CloseWrite())
				if _, err := io.Copy(io.Discard, stream); err != nil {
					t.Error(err)
				}
				if exit, err := stream.Wait(t.Context()); err != nil || exit.Code != 7 || exit.Stderr != "bye\n" {
					t.Errorf("%+v, %v", exit, err)
				}
				must(t, stream.Close())
				return trips
			}
			// A busy machine may send what belongs together in pieces, but not each time.
			for _, c := range []struct {
				uploaded bool
				most     int
			}{{true, 4}, {false, 2}, {false, 2}} {
				trips := c.most + 1
				for try := 0; try < 3 && trips > c.most; try++ {
					if c.uploaded {
						must(t, os.RemoveAll(folder))
					}
					trips = min(trips, start(c.uploaded))
				}
				if trips > c.most {
					t.Errorf("uploaded %v: it takes more than %d round trips", c.uploaded, c.most)
				}
			}
		})
	}
}

// A link that breaks at any point of the start is no reason for other means.
func TestStartOverALinkThatBreaks(t *testing.T) {
	b := helpertest.Echo(t)
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	for _, n := range []int64{3000, 20_000, 400_000} {
		proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address()})
		must(t, err)
		st := starterOn(t, s, func(o *Options) { o.Port, o.AcceptNew = proxy.Port(), true })
		proxy.CutAfter(faultproxy.Up, n)
		_, _, err = install.Start(t.Context(), st, b, install.Options{})
		if kind := ops.KindOf(err); kind != ops.KindUnavailable || errors.As(err, new(*install.CannotRunError)) {
			t.Errorf("cut after %d bytes: %q, %v", n, kind, err)
		}
		must(t, proxy.Close())
	}
	stream, r, err := install.Start(t.Context(), starterOn(t, s, nil), b, install.Options{})
	must(t, err)
	if !r.Uploaded {
		t.Errorf("%+v", r)
	}
	talk(t, stream)
	must(t, stream.Close())
}

// Giving up does not wait for a target that says nothing any more (hazard SSHC-04).
func TestSSHC04CloseDoesNotWaitForASilentLink(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address()})
	must(t, err)
	defer func() { must(t, proxy.Close()) }()
	st := starterOn(t, s, func(o *Options) { o.Port, o.AcceptNew = proxy.Port(), true })
	stream, _, err := install.Start(t.Context(), st, helpertest.Echo(t), install.Options{})
	must(t, err)
	talk(t, stream)
	proxy.BlackHole(true)
	read := make(chan error, 1)
	go func() {
		_, err := stream.Read(make([]byte, 1))
		read <- err
	}()
	must(t, stream.Close())
	select {
	case err := <-read:
		if err == nil {
			t.Error("a byte came out of nowhere")
		}
	case <-time.After(10 * time.Second):
		t.Error("reading goes on after Close")
	}
}

// The helper ends when its stream is given up.
func TestHelperEndsWithItsStream(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	stream, r, err := install.Start(t.Context(), starterOn(t, s, nil), helpertest.Echo(t), install.Options{})
	must(t, err)
	talk(t, stream)
	if runs(t, r.Path) == 0 {
		t.Errorf("no process runs %s", r.Path)
	}
	must(t, stream.Close())
	eventually(t, "the end of the helper", 10*time.Second, func() bool { return runs(t, r.Path) == 0 })
}

// runs counts the processes of a program.
func runs(t *testing.T, program string) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	must(t, err)
	for _, l := range links {
		if p, err := os.Readlink(l); err == nil && p == program {
			n++
		}
	}
	return n
}

// A server that runs no commands is a reason for other means; so is one that runs
// something else in the place of every command.
func TestServersThatStartNothing(t *testing.T) {
	b := helpertest.Echo(t)
	refusing := startFake(t, nil)
	other := startFake(t, func(f *fakeServer) {
		f.exec = func(ch gossh.Channel, _ string) {
			_, _ = io.WriteString(ch, "This service allows sftp connections only.\n")
			exitWith(ch, 1)
		}
	})
	for words, f := range map[string]*fakeServer{"runs no commands for this account": refusing, "sftp connections only": other} {
		_, _, err := install.Start(t.Context(), starter{f.connect(t, nil)}, b, install.Options{})
		if !errors.As(err, new(*install.CannotRunError)) || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
	silent := startFake(t, func(f *fakeServer) { f.exec = func(ch gossh.Channel, _ string) { _, _ = io.Copy(io.Discard, ch) } })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, _, err := install.Start(ctx, starter{silent.connect(t, nil)}, b, install.Options{})
	wantIs(t, "a server that says nothing", err, context.DeadlineExceeded)
}

package wire

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/docker"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools/ops"
)

// behind describes a container whose daemon is reached through an SSH server.
func behind(s *servers.SSHD, container, socket string) Options {
	return Options{
		Workspace: config.Workspace{
			Backend: "docker", Container: container, Path: "/ws", Helper: "never",
			Endpoint: fmt.Sprintf("ssh://%s@%s%s", s.User, s.Address(), socket),
		},
		Config: &config.Config{},
		Env:    []string{"HOME=" + s.Home, "PATH=" + os.Getenv("PATH")},
	}
}

// The socket is named, or the docker command of the host knows it; where the server
// forwards nothing the command relays (hazard DKX-11).
func TestDKX11DaemonBehindSSH(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	container := d.Run(t, servers.ContainerOptions{})
	socket := strings.TrimPrefix(d.Host, "unix://")
	known := "SetEnv DOCKER_HOST=" + d.Host + " HOME=" + t.TempDir() // no start-up files of the account
	for _, c := range []struct {
		name, socket string
		server       []string // lines of its configuration
	}{
		{"a named socket", socket, nil},
		{"that of the command", "", []string{known}},
		{"no forwarding", "", []string{known, "AllowStreamLocalForwarding no"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, err := Open(t.Context(), behind(servers.StartSSHD(t, servers.SSHDOptions{Config: c.server}), container, c.socket))
			if err != nil {
				t.Fatal(err)
			}
			file := "/ws/" + filepath.Base(t.TempDir()) + strings.ReplaceAll(c.name, " ", "-")
			text := strings.Repeat("some text\n", 100_000)
			if _, err := w.Set.Write.WriteFile(t.Context(), file, []byte(text)); err != nil {
				t.Error(err)
			}
			if got, err := w.Set.Read.ReadFile(t.Context(), file, 0); string(got) != text || err != nil {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
			exit, err := w.Set.Bash.Exec(t.Context(), ops.Command{Script: "exit 7", Timeout: time.Minute}, nil)
			if err != nil || exit.Code != 7 {
				t.Errorf("%+v, %v", exit, err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is wrong with the way is told by its own kind and names what to mend.
func TestDKX11DaemonsBehindSSHThatCantBeReached(t *testing.T) {
	t.Parallel()
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	stranger := behind(s, "app", "/x.sock")
	stranger.Env = []string{"HOME=" + t.TempDir()}
	for name, c := range map[string]struct {
		o     Options
		kind  ops.Kind
		words []string
	}{
		"no socket":   {behind(s, "app", "/no/such.sock"), ops.KindUnavailable, []string{"/no/such.sock", s.Address()}},
		"unknown key": {stranger, ops.KindHostKey, []string{s.Address()}},
		"a tilde":     {behind(s, "app", "/~/docker.sock"), ops.KindUnavailable, []string{"absolute"}},
		"a password": {
			Options{Workspace: config.Workspace{Backend: "docker", Container: "app", Endpoint: "ssh://u:p@h"}, Config: &config.Config{}},
			ops.KindUnavailable,
			[]string{"password"},
		},
	} {
		_, err := Open(t.Context(), c.o)
		if ops.KindOf(err) != c.kind {
			t.Errorf("%s: %v (%s)", name, err, ops.KindOf(err))
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", name, err, w)
			}
		}
	}
}

// spread thins the conformance suite in the short form.
const spread = 24

// The conformance suite on a container whose daemon is reached through SSH.
func TestConformanceOfADaemonBehindSSH(t *testing.T) {
	t.Parallel()
	long := os.Getenv("PIREMOTE_SOAK") == "1"
	d := servers.StartDockerd(t)
	host, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	container := d.Run(t, servers.ContainerOptions{Binds: []string{host + ":/ws"}})
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	bundle := helpertest.Bundle(t)
	var checks atomic.Int64
	for i, policy := range []helper.Policy{helper.Never, helper.Require} {
		h := backendtest.Harness{Name: "docker behind SSH, helper " + string(policy), Open: func(tb testing.TB) backendtest.Workspace {
			folder := fmt.Sprintf("%d/dir", checks.Add(1))
			fixture := backendtest.HostDir(filepath.Join(host, folder), "/ws/"+folder)
			if err := fixture.Mkdir("/ws/"+folder, 0o755); err != nil {
				tb.Fatal(err)
			}
			o, done := dockerOptions(behind(s, container, strings.TrimPrefix(d.Host, "unix://")))
			o.Dir, o.Helper, o.Helpers = "/ws/"+folder, policy, bundle
			w, err := docker.Open(tb.Context(), o)
			if err != nil {
				done()
				tb.Fatal(err)
			}
			return backendtest.Workspace{Set: w.Set(), Fixture: fixture, Close: before(done, w.Close)}
		}}
		if !long {
			h.Only = backendtest.Share(i*spread/2, spread)
		}
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			backendtest.Run(t, h)
		})
	}
}

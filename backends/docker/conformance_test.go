//go:build linux

package docker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/docker"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
)

func TestConformance(t *testing.T) {
	t.Parallel() // it mostly waits, and it is the longest test: its halves are parallel too
	p := onBusyBox(t)
	for half := range 2 {
		t.Run(fmt.Sprint("half ", half+1), func(t *testing.T) {
			t.Parallel()
			p.conforms(t, "docker", helper.Never, backendtest.Share(half, 2))
		})
	}
}

func TestConformanceWithHelper(t *testing.T) {
	t.Parallel()
	onBusyBox(t).conforms(t, "docker with helper", helper.Require, nil)
}

// spread thins the suite in the short form: of so many checks each kind of container
// has one agentless and another one with the helper. In the long form each check runs
// on each kind.
const spread = 24

// The conformance suite on the kinds of containers that people have, agentless and with
// the helper. Both run all checks on BusyBox elsewhere. A container that is reached
// through SSH is tested where the two backends are put together.
func TestEveryKindOfContainerConforms(t *testing.T) {
	t.Parallel()
	long := os.Getenv("PIREMOTE_SOAK") == "1" //nolint:forbidigo // tests read their own switches
	for i, kind := range []struct {
		name string
		make func(t *testing.T) *place
	}{
		{"an account", onBusyBoxAsAccount},
		{"Debian, read-only, workspace in memory", onReadOnlyDebian},
		{"no shell", onNoShell},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			p := kind.make(t)
			for j, policy := range []helper.Policy{helper.Never, helper.Require} {
				if p.noShell && policy == helper.Never {
					continue // nothing can be done there, which is a test of its own
				}
				only := backendtest.Share(3*i+j*spread/2, spread)
				if long {
					only = nil
				}
				t.Run("helper "+string(policy), func(t *testing.T) { p.conforms(t, kind.name, policy, only) })
			}
		})
	}
}

// place is a container with a folder /ws that is seen from here too.
type place struct {
	options docker.Options // without a folder
	host    string         // /ws, on this machine
	uid     int            // of the account; -1: root
	noShell bool
	checks  atomic.Int64
}

func onBusyBox(t *testing.T) *place {
	t.Helper()
	return bound(t, servers.ContainerOptions{})
}

// bound starts a container whose /ws is a folder of this machine.
func bound(t *testing.T, o servers.ContainerOptions) *place {
	t.Helper()
	host, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := servers.StartDockerd(t)
	o.Binds = []string{host + ":/ws"}
	return &place{options: docker.Options{Host: d.Host, Container: d.Run(t, o)}, host: host, uid: -1}
}

func onBusyBoxAsAccount(t *testing.T) *place {
	t.Helper()
	p := onBusyBox(t)
	p.uid, p.options.User = 1001, "1001"
	return p
}

func onReadOnlyDebian(t *testing.T) *place {
	t.Helper()
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{
		Image: d.Debian(t), ReadOnly: true, Tmpfs: map[string]string{"/ws": "exec,mode=755", "/tmp": "exec,mode=1777"},
	})
	return &place{options: docker.Options{Host: d.Host, Container: name}, host: d.Path(t, name, "/ws"), uid: -1}
}

func onNoShell(t *testing.T) *place {
	t.Helper()
	d := servers.StartDockerd(t)
	p := bound(t, servers.ContainerOptions{Image: d.NoShell(t), Cmd: servers.NoShellCmd()})
	p.noShell = true
	return p
}

// conforms runs checks of the suite, each in a folder of its own.
func (p *place) conforms(t *testing.T, name string, policy helper.Policy, only func(backendtest.Check) bool) {
	t.Helper()
	bundle := helpertest.Bundle(t)
	backendtest.Run(t, backendtest.Harness{Name: name, NoExec: p.noShell, Only: only, Open: func(tb testing.TB) backendtest.Workspace {
		folder := fmt.Sprintf("%d/dir", p.checks.Add(1))
		fixture := backendtest.HostDirOf(filepath.Join(p.host, folder), "/ws/"+folder, p.uid)
		if err := fixture.Mkdir("/ws/"+folder, 0o755); err != nil {
			tb.Fatal(err)
		}
		o := p.options
		o.Dir, o.Helper, o.Helpers = "/ws/"+folder, policy, bundle
		w, err := docker.Open(tb.Context(), o)
		if err != nil {
			tb.Fatal(err)
		}
		return backendtest.Workspace{Set: w.Set(), Fixture: fixture, Close: w.Close}
	}})
}

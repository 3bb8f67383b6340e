//go:build linux

package ssh_test

import (
	"path/filepath"
	"testing"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/ssh"
)

func TestConformance(t *testing.T) {
	conformance(t, "ssh", helper.Never)
}

func TestConformanceWithHelper(t *testing.T) {
	conformance(t, "ssh with helper", helper.Require)
}

func conformance(t *testing.T, name string, policy helper.Policy) {
	// An empty home: start-up files of the account play no part.
	server := servers.StartSSHD(t, servers.SSHDOptions{Config: []string{"SetEnv HOME=" + t.TempDir()}})
	bundle := helpertest.Bundle(t)
	backendtest.Run(t, backendtest.Harness{Name: name, Open: func(tb testing.TB) backendtest.Workspace {
		base, err := filepath.EvalSymlinks(tb.TempDir())
		if err != nil {
			tb.Fatal(err)
		}
		dir := filepath.Join(base, "ws")
		fixture := backendtest.HostDir(dir, dir)
		if err := fixture.Mkdir(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		w, err := ssh.Open(tb.Context(), ssh.Options{
			Host: server.Host, Port: server.Port, User: server.User, Home: server.Home, Dir: dir,
			Helper: policy, Helpers: bundle,
		})
		if err != nil {
			tb.Fatal(err)
		}
		return backendtest.Workspace{Set: w.Set(), Fixture: fixture, Close: w.Close}
	}})
}

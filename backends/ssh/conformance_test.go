//go:build linux

package ssh_test

import (
	"testing"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/install"
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
	server := servers.StartSSHD(t, servers.SSHDOptions{})
	bundle := helpertest.Bundle(t)
	backendtest.Run(t, backendtest.Harness{Name: name, Open: opener(server, policy, bundle)})
}

// opener opens workspaces in fresh folders on a server.
func opener(s *servers.SSHD, policy helper.Policy, bundle install.Bundle) func(testing.TB) backendtest.Workspace {
	return func(tb testing.TB) backendtest.Workspace {
		host, dir := s.Folder(tb)
		w, err := ssh.Open(tb.Context(), ssh.Options{
			Host: s.Host, Port: s.Port, User: s.User, Home: s.Home, Dir: dir, Helper: policy, Helpers: bundle,
		})
		if err != nil {
			tb.Fatal(err)
		}
		return backendtest.Workspace{Set: w.Set(), Fixture: backendtest.HostDirOf(host, dir, s.UID()), Close: w.Close}
	}
}

//go:build linux

package docker_test

import (
	"fmt"
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
	conformance(t, "docker", helper.Never)
}

func TestConformanceWithHelper(t *testing.T) {
	conformance(t, "docker with helper", helper.Require)
}

func conformance(t *testing.T, name string, policy helper.Policy) {
	bundle := helpertest.Bundle(t)
	host, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := servers.StartDockerd(t)
	container := d.Run(t, servers.ContainerOptions{Binds: []string{host + ":/ws"}})
	var checks atomic.Int64
	backendtest.Run(t, backendtest.Harness{Name: name, Open: func(tb testing.TB) backendtest.Workspace {
		folder := fmt.Sprintf("%d/dir", checks.Add(1))
		fixture := backendtest.HostDir(filepath.Join(host, folder), "/ws/"+folder)
		if err := fixture.Mkdir("/ws/"+folder, 0o755); err != nil {
			tb.Fatal(err)
		}
		w, err := docker.Open(tb.Context(), docker.Options{Host: d.Host, Container: container, Dir: "/ws/" + folder, Helper: policy, Helpers: bundle})
		if err != nil {
			tb.Fatal(err)
		}
		return backendtest.Workspace{Set: w.Set(), Fixture: fixture, Close: w.Close}
	}})
}

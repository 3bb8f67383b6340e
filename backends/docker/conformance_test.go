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
)

func TestConformance(t *testing.T) {
	host, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := servers.StartDockerd(t)
	container := d.Run(t, servers.ContainerOptions{Binds: []string{host + ":/ws"}})
	var checks atomic.Int64
	backendtest.Run(t, backendtest.Harness{Name: "docker", Open: func(tb testing.TB) backendtest.Workspace {
		folder := fmt.Sprintf("%d/dir", checks.Add(1))
		fixture := backendtest.HostDir(filepath.Join(host, folder), "/ws/"+folder)
		if err := fixture.Mkdir("/ws/"+folder, 0o755); err != nil {
			tb.Fatal(err)
		}
		w, err := docker.Open(tb.Context(), docker.Options{Host: d.Host, Container: container, Dir: "/ws/" + folder})
		if err != nil {
			tb.Fatal(err)
		}
		return backendtest.Workspace{Set: w.Set(), Fixture: fixture, Close: w.Close}
	}})
}

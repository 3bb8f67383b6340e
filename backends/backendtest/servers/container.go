//go:build unix

package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// containerLabel marks the containers of tests.
const containerLabel = "piremote.test"

// ContainerOptions adjusts a container.
type ContainerOptions struct {
	Image    string   // empty: BusyBox
	Name     string   // empty: one that nobody else has
	User     string   // of the main process
	Cmd      []string // of the main process; empty: one that sleeps
	Env      []string
	Binds    []string          // host:container[:ro]
	Tmpfs    map[string]string // folder: options; a folder of the image keeps its mode
	ReadOnly bool              // the root file system
	Dir      string            // working folder; empty: the image's
	Memory   int64             // limit in bytes, swap included; 0 means none
	Pids     int64             // limit; 0 means none
	NoInit   bool              // PID 1 is Cmd itself, which reaps nothing
}

// Run starts a container without a network that does nothing until the test
// ends, and returns its name. It is removed then.
func (d *Dockerd) Run(tb testing.TB, o ContainerOptions) string {
	tb.Helper()
	if o.Image == "" {
		o.Image = d.BusyBox(tb)
	}
	if o.Name == "" {
		o.Name = fmt.Sprintf("piremote-%d-%d", os.Getpid(), time.Now().UnixNano())
	}
	if len(o.Cmd) == 0 {
		o.Cmd = []string{"/bin/sh", "-c", "while :; do sleep 3600; done"}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	host := &container.HostConfig{Binds: o.Binds, Tmpfs: o.Tmpfs, ReadonlyRootfs: o.ReadOnly, NetworkMode: "none"}
	if _, err := exec.LookPath("docker-init"); err == nil && !o.NoInit {
		yes := true
		host.Init = &yes
	}
	if o.Memory > 0 {
		host.Memory, host.MemorySwap = o.Memory, o.Memory
	}
	if o.Pids > 0 {
		host.PidsLimit = &o.Pids
	}
	c, err := d.client.ContainerCreate(ctx, &container.Config{
		Image: o.Image, User: o.User, Env: o.Env, WorkingDir: o.Dir, Cmd: o.Cmd, Labels: map[string]string{containerLabel: "1"},
	}, host, nil, nil, o.Name)
	check(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = d.client.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true}) // a test may have removed it
	})
	check(tb, d.client.ContainerStart(ctx, c.ID, container.StartOptions{}))
	return o.Name
}

// ID returns the full id of a container.
func (d *Dockerd) ID(tb testing.TB, name string) string {
	tb.Helper()
	c, err := d.client.ContainerInspect(tb.Context(), name)
	check(tb, err)
	return c.ID
}

// PID returns the process number of a container's main process on this machine.
func (d *Dockerd) PID(tb testing.TB, name string) int {
	tb.Helper()
	c, err := d.client.ContainerInspect(tb.Context(), name)
	check(tb, err)
	return c.State.Pid
}

// Path returns where a folder of a running container, be it in memory, is seen from
// this machine. That needs root.
func (d *Dockerd) Path(tb testing.TB, name, dir string) string {
	tb.Helper()
	return filepath.Join("/proc", fmt.Sprint(d.PID(tb, name)), "root", dir)
}

// Top counts the processes of a container whose command line ends in a word, as docker
// top shows them; those that have ended have none.
func (d *Dockerd) Top(tb testing.TB, name, word string) (n int) {
	tb.Helper()
	list, err := d.client.ContainerTop(tb.Context(), name, nil)
	check(tb, err)
	for _, p := range list.Processes {
		if strings.HasSuffix(p[len(p)-1], " "+word) {
			n++
		}
	}
	return n
}

// Exists reports whether there is a container.
func (d *Dockerd) Exists(tb testing.TB, name string) bool {
	tb.Helper()
	_, err := d.client.ContainerInspect(tb.Context(), name)
	if err != nil && !errdefs.IsNotFound(err) {
		tb.Fatal(err)
	}
	return err == nil
}

// Pause pauses a container until the test ends or Unpause.
func (d *Dockerd) Pause(tb testing.TB, name string) {
	tb.Helper()
	check(tb, d.client.ContainerPause(tb.Context(), name))
	tb.Cleanup(func() { _ = d.client.ContainerUnpause(context.Background(), name) }) // before it is removed; it may be unpaused
}

// Unpause lets a paused container go on.
func (d *Dockerd) Unpause(tb testing.TB, name string) {
	tb.Helper()
	check(tb, d.client.ContainerUnpause(tb.Context(), name))
}

// Remove removes a container by force.
func (d *Dockerd) Remove(tb testing.TB, name string) {
	tb.Helper()
	check(tb, d.client.ContainerRemove(tb.Context(), name, container.RemoveOptions{Force: true}))
}

// Stop ends a container's processes at once; it stays, stopped.
func (d *Dockerd) Stop(tb testing.TB, name string) {
	tb.Helper()
	now := 0
	check(tb, d.client.ContainerStop(tb.Context(), name, container.StopOptions{Timeout: &now}))
}

// Kill ends a container's processes by SIGKILL; it stays, stopped.
func (d *Dockerd) Kill(tb testing.TB, name string) {
	tb.Helper()
	check(tb, d.client.ContainerKill(tb.Context(), name, "KILL"))
}

// Start starts a stopped container again.
func (d *Dockerd) Start(tb testing.TB, name string) {
	tb.Helper()
	check(tb, d.client.ContainerStart(tb.Context(), name, container.StartOptions{}))
}

// Restart ends a container's processes at once and starts it again.
func (d *Dockerd) Restart(tb testing.TB, name string) {
	tb.Helper()
	now := 0
	check(tb, d.client.ContainerRestart(tb.Context(), name, container.StopOptions{Timeout: &now}))
}

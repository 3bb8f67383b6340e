package servers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
)

// Dockerd is a reachable Docker daemon.
type Dockerd struct {
	Host   string // unix:///path
	client *client.Client
}

// sharedDir is where the daemon that all test packages share lives. Packages
// run in processes of their own, at the same time: each holds a shared lock on
// the folder while it uses the daemon, and the last one ends it.
func sharedDir() string { return filepath.Join(os.TempDir(), "piremote-dockerd") }

// StartDockerd returns the shared daemon, starting it if no other test process
// has. It needs root, dockerd and containerd.
func StartDockerd(tb testing.TB) *Dockerd {
	tb.Helper()
	program, err := exec.LookPath("dockerd")
	if err != nil {
		Missing(tb, "dockerd", "package docker.io")
	}
	if os.Getuid() != 0 {
		Missing(tb, "dockerd", "starting one needs root")
	}
	dir := sharedDir()
	check(tb, os.MkdirAll(dir, 0o700))
	start := lock(tb, filepath.Join(dir, "start"), syscall.LOCK_EX)
	use := lock(tb, filepath.Join(dir, "use"), syscall.LOCK_SH)
	d := &Dockerd{Host: "unix://" + filepath.Join(dir, "docker.sock")}
	d.client, err = client.NewClientWithOpts(client.WithHost(d.Host), client.WithAPIVersionNegotiation())
	check(tb, err)
	if !d.answers() {
		startDaemon(tb, program, dir, d)
	}
	unlock(start)
	tb.Cleanup(func() {
		_ = d.client.Close()
		d.leave(dir, use)
	})
	return d
}

func (d *Dockerd) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err := d.client.Ping(ctx)
	return err == nil
}

// startDaemon starts dockerd in a session of its own, since it may outlive this
// process for another's tests.
func startDaemon(tb testing.TB, program, dir string, d *Dockerd) {
	tb.Helper()
	_ = os.Remove(filepath.Join(dir, "docker.pid"))
	logFile, err := os.Create(filepath.Join(dir, "dockerd.log"))
	check(tb, err)
	defer func() { check(tb, logFile.Close()) }()
	cmd := exec.Command(program,
		"--host", d.Host, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "docker.pid"), "--config-file", filepath.Join(dir, "no-config.json"),
		"--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-masq=false", "--storage-driver", storageDriver())
	check(tb, os.WriteFile(filepath.Join(dir, "no-config.json"), []byte("{}"), 0o600))
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	check(tb, cmd.Start())
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	if !until(60*time.Second, func() bool { return d.answers() || len(exited) > 0 }) || !d.answers() {
		text, _ := os.ReadFile(logFile.Name())
		Missing(tb, "dockerd", fmt.Sprintf("it does not start:\n%.4000s", text))
	}
}

// storageDriver is the one that works on any file system.
func storageDriver() string { return "vfs" }

// leave gives the daemon up and ends it if nobody else uses it.
func (d *Dockerd) leave(dir string, use *os.File) {
	unlock(use)
	start, err := os.OpenFile(filepath.Join(dir, "start"), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer unlock(start)
	last, err := os.OpenFile(filepath.Join(dir, "use"), os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer unlock(last)
	if syscall.Flock(int(start.Fd()), syscall.LOCK_EX) != nil || syscall.Flock(int(last.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	var pid int
	text, err := os.ReadFile(filepath.Join(dir, "docker.pid"))
	if err != nil {
		return
	}
	if _, err := fmt.Sscan(string(text), &pid); err != nil || pid <= 1 {
		return
	}
	_ = syscall.Kill(pid, syscall.SIGTERM)
	until(20*time.Second, func() bool { return syscall.Kill(pid, 0) != nil })
}

func lock(tb testing.TB, file string, how int) *os.File {
	tb.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	check(tb, err)
	check(tb, syscall.Flock(int(f.Fd()), how))
	return f
}

func unlock(f *os.File) { _ = f.Close() } // closing releases the lock

// ContainerOptions adjusts a container.
type ContainerOptions struct {
	Image    string   // empty: BusyBox
	User     string   // of the main process
	Binds    []string // host:container
	Tmpfs    map[string]string
	ReadOnly bool
	Dir      string // working folder
}

// Run starts a container that does nothing until the test ends, and returns its
// name.
func (d *Dockerd) Run(tb testing.TB, o ContainerOptions) string {
	tb.Helper()
	if o.Image == "" {
		o.Image = d.BusyBox(tb)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	init := true
	name := fmt.Sprintf("piremote-%d-%d", os.Getpid(), time.Now().UnixNano())
	c, err := d.client.ContainerCreate(ctx,
		&container.Config{Image: o.Image, User: o.User, WorkingDir: o.Dir, Cmd: []string{"/bin/sh", "-c", "while :; do sleep 3600; done"}},
		&container.HostConfig{Binds: o.Binds, Tmpfs: o.Tmpfs, ReadonlyRootfs: o.ReadOnly, Init: initIfThere(&init), NetworkMode: "none"}, nil, nil, name)
	check(tb, err)
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = d.client.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true}) // a test may have removed it
	})
	check(tb, d.client.ContainerStart(ctx, c.ID, container.StartOptions{}))
	return name
}

// initIfThere asks for an init process where docker-init is installed.
func initIfThere(yes *bool) *bool {
	for _, p := range []string{"docker-init", "tini"} {
		if _, err := exec.LookPath(p); err == nil && p == "docker-init" {
			return yes
		}
	}
	return nil
}

// Pause pauses a container, Remove removes it by force.
func (d *Dockerd) Pause(tb testing.TB, name string) {
	tb.Helper()
	check(tb, d.client.ContainerPause(context.Background(), name))
	tb.Cleanup(func() { _ = d.client.ContainerUnpause(context.Background(), name) }) // before it is removed
}

// Remove removes a container by force.
func (d *Dockerd) Remove(tb testing.TB, name string) {
	tb.Helper()
	check(tb, d.client.ContainerRemove(context.Background(), name, container.RemoveOptions{Force: true}))
}

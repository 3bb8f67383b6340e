//go:build unix

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

	"github.com/docker/docker/client"
)

// Dockerd is a reachable Docker daemon.
type Dockerd struct {
	Host   string // unix:///path
	client *client.Client
}

// StartDockerd returns a daemon: the one at DOCKER_HOST or at the default
// socket if it answers, else one of the tests' own, started if no other test
// process has. That needs root, dockerd and containerd.
//
// The tests' own daemon is shared. Packages run in processes of their own, at
// the same time: each holds a lock while it uses the daemon, and the last one
// ends it.
func StartDockerd(tb testing.TB) *Dockerd {
	tb.Helper()
	if d := present(tb); d != nil {
		return d
	}
	program, err := exec.LookPath("dockerd")
	if err != nil {
		Missing(tb, "dockerd", "package docker.io")
	}
	if os.Getuid() != 0 {
		Missing(tb, "dockerd", "starting one needs root")
	}
	dir, err := privateDir()
	if err != nil {
		Missing(tb, "dockerd", err.Error())
	}
	d := newDockerd(tb, "unix://"+filepath.Join(dir, "docker.sock"))
	start, err := lock(dir, "start", syscall.LOCK_EX)
	check(tb, err)
	defer unlock(start) // also if the test ends in here
	use, err := lock(dir, "use", syscall.LOCK_SH)
	check(tb, err)
	tb.Cleanup(func() { leave(dir, use) })
	if d.answers() {
		return d
	}
	if err := startDaemon(program, dir, d); err != nil {
		Missing(tb, "dockerd", err.Error())
	}
	return d
}

// KeepDockerd keeps the tests' own daemon, once it runs, from being ended
// between the tests of a package; TestMain calls it and, at its end, release.
func KeepDockerd() (release func()) {
	dir, err := privateDir()
	if err != nil || os.Getuid() != 0 {
		return func() {}
	}
	use, err := lock(dir, "use", syscall.LOCK_SH)
	if err != nil {
		return func() {}
	}
	return func() { leave(dir, use) }
}

// present returns a daemon that is there anyway, or nil.
func present(tb testing.TB) *Dockerd {
	tb.Helper()
	host, _ := os.LookupEnv("DOCKER_HOST") //nolint:forbidigo // test support
	if host == "" {
		host = "unix:///var/run/docker.sock"
	}
	d := newDockerd(tb, host)
	if d.answers() {
		return d
	}
	return nil
}

func newDockerd(tb testing.TB, host string) *Dockerd {
	tb.Helper()
	c, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
	check(tb, err)
	tb.Cleanup(func() { _ = c.Close() })
	return &Dockerd{Host: host, client: c}
}

func (d *Dockerd) answers() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err := d.client.Ping(ctx)
	return err == nil
}

// privateDir is where the tests' own daemon lives.
func privateDir() (string, error) {
	dir := filepath.Join(os.TempDir(), "piremote-dockerd")
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s is not a private folder of this account", dir)
	}
	return dir, nil
}

// lock waits for a lock on a file of the daemon's folder.
func lock(dir, name string, how int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return f, nil
}

func unlock(f *os.File) { _ = f.Close() } // closing releases the lock

// leave gives the daemon up and ends it if nobody else uses it.
func leave(dir string, use *os.File) {
	unlock(use)
	start, err := lock(dir, "start", syscall.LOCK_EX)
	if err != nil {
		return
	}
	defer unlock(start)
	last, err := lock(dir, "use", syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return // someone else uses it
	}
	defer unlock(last)
	stopDaemon(dir)
}

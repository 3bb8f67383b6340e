//go:build unix

package servers

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
)

// startDaemon starts dockerd, and through it containerd, in a session of its
// own, since it may outlive this process for another's tests: so a shell starts
// it, and it is nobody's child.
func startDaemon(program, dir string, d *Dockerd) error {
	pidFile, log := filepath.Join(dir, "docker.pid"), filepath.Join(dir, "dockerd.log")
	if err := os.Remove(pidFile); err != nil && !os.IsNotExist(err) {
		return err // it is stale: nothing answers and the start lock is held
	}
	if err := os.WriteFile(filepath.Join(dir, "no-config.json"), []byte("{}"), 0o600); err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", `"$@" </dev/null >"$0" 2>&1 & echo $!`, log}, daemonCommand(program, dir, d)...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("dockerd can't be started: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return fmt.Errorf("dockerd can't be started: %w", err)
	}
	ready := false
	until(time.Minute, func() bool {
		ready = d.answers()
		return ready || !alive(pid)
	})
	if ready {
		return nil
	}
	if alive(pid) {
		_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended just now
	}
	text, _ := os.ReadFile(log)
	return fmt.Errorf("dockerd does not start:\n%s", text[max(0, len(text)-4000):])
}

// daemonCommand is the command line of a daemon with all that it has in a folder.
func daemonCommand(program, dir string, d *Dockerd) []string {
	return []string{
		program,
		"--host", d.Host, "--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "docker.pid"), "--config-file", filepath.Join(dir, "no-config.json"),
		"--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-masq=false",
		"--storage-driver", "vfs", // works on any file system
	}
}

// stopDaemon removes the containers that killed tests left and ends the daemon.
// The caller holds both locks.
func stopDaemon(dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "docker.pid"))
	if err != nil {
		return // it was never started
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 || !isDaemon(pid, dir) {
		return
	}
	removeLeftovers("unix://" + filepath.Join(dir, "docker.sock"))
	_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended
	if !until(20*time.Second, func() bool { return !alive(pid) }) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the next start removes its pid file
	}
}

// isDaemon guards against a process that got the pid of a dead daemon.
func isDaemon(pid int, dir string) bool {
	argv, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(argv, []byte("dockerd")) && bytes.Contains(argv, []byte(dir))
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(stat, []byte(") "))
	return ok && !bytes.HasPrefix(rest, []byte("Z"))
}

// removeLeftovers removes the tests' containers.
func removeLeftovers(host string) {
	c, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	list, err := c.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", containerLabel))})
	if err != nil {
		return
	}
	for _, l := range list {
		_ = c.ContainerRemove(ctx, l.ID, container.RemoveOptions{Force: true}) // the daemon ends anyway
	}
}

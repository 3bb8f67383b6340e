//go:build unix

package servers

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// podmanLimits keeps to what a machine allows that gives its root less than the usual.
const podmanLimits = "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\n"

// StartPodman starts a podman of the test's own that serves Docker's API. Its containers
// are those of the test. It needs root.
func StartPodman(tb testing.TB) *Dockerd {
	tb.Helper()
	program, err := exec.LookPath("podman")
	if err != nil {
		Missing(tb, "podman", "package podman")
	}
	if os.Getuid() != 0 {
		Missing(tb, "podman", "it needs root")
	}
	dir, err := os.MkdirTemp("", "podman") //nolint:usetesting // a socket's path must be short
	check(tb, err)
	tb.Cleanup(func() { check(tb, os.RemoveAll(dir)) })
	config := filepath.Join(dir, "containers.conf")
	check(tb, os.WriteFile(config, []byte(podmanLimits), 0o600))
	args := []string{
		"--root", filepath.Join(dir, "root"), "--runroot", filepath.Join(dir, "run"), "--tmpdir", filepath.Join(dir, "tmp"),
		"--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "file",
	}
	if _, err := exec.LookPath("runc"); err == nil {
		args = append(args, "--runtime", "runc") // crun refuses machines with both versions of control groups
	}
	d := newDockerd(tb, "unix://"+filepath.Join(dir, "sock"))
	cmd := exec.CommandContext(context.Background(), program, append(args, "system", "service", "--time=0", d.Host)...)
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+config)
	log := &logs{}
	log.showIfFailed(tb, "podman")
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = log, log, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check(tb, cmd.Start())
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the log says why it ended
		close(exited)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		if !until(20*time.Second, func() bool { return closed(exited) }) {
			_ = cmd.Process.Kill() // as above
			<-exited
		}
		endUsers(tb, dir)
	})
	if !until(time.Minute, func() bool { return d.answers() || closed(exited) }) || closed(exited) {
		Missing(tb, "podman", "it does not serve: "+log.String())
	}
	return d
}

// endUsers ends the processes that have a folder in their command line: what watches
// over a process in a container stays for minutes after its end.
func endUsers(tb testing.TB, dir string) {
	tb.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(tb, err)
	for _, file := range files {
		argv, err := os.ReadFile(file)
		pid, perr := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && perr == nil && pid != os.Getpid() && bytes.Contains(argv, []byte(dir+"/")) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

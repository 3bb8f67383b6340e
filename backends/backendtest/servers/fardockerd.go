//go:build unix

package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// StartFarDockerd starts a daemon of its own as if it were on another machine: where
// the folders are that are named, it sees empty ones. It ends with the test.
func StartFarDockerd(tb testing.TB, folders ...string) *Dockerd {
	tb.Helper()
	program, err := exec.LookPath("dockerd")
	if err != nil {
		Missing(tb, "dockerd", "package docker.io")
	}
	if os.Getuid() != 0 {
		Missing(tb, "dockerd", "starting one needs root")
	}
	dir, err := os.MkdirTemp("", "far-dockerd-") //nolint:usetesting // a socket's path is short
	check(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left is in a temporary folder
	empty := filepath.Join(dir, "empty")
	check(tb, os.Mkdir(empty, 0o755))
	check(tb, os.WriteFile(filepath.Join(dir, "no-config.json"), []byte("{}"), 0o600))
	d := newDockerd(tb, "unix://"+filepath.Join(dir, "docker.sock"))
	var p place
	for _, folder := range folders {
		p = append(p, mount{from: empty, over: folder})
	}
	cmd := p.command(tb, daemonCommand(program, dir, d)...)
	log, err := os.Create(filepath.Join(dir, "log"))
	check(tb, err)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = log, log, time.Second
	check(tb, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // how it ends is of no interest
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill() // as above
			<-ended
		}
		_ = log.Close() // nobody reads it any more
	})
	if !until(time.Minute, d.answers) {
		text, _ := os.ReadFile(log.Name())
		Missing(tb, "dockerd", "it does not start:\n"+string(text[max(0, len(text)-4000):]))
	}
	return d
}

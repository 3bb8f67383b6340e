//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
)

// With a lease a command outlives its client, doctor tells of it, and gc ends it.
func TestGCEndsWhatALostClientLeft(t *testing.T) {
	x := sshTarget(t, servers.StartSSHD(t, servers.SSHDOptions{}))
	x.env = append(x.env, "PIREMOTE_HELPER_LEASE=10m")
	arg := fmt.Sprintf("1%09d", time.Now().UnixNano()%1_000_000_000)
	cmd := exec.CommandContext(t.Context(), binary, "-w", x.address, "tool", "bash", "command=sleep "+arg)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "USER=root"}, x.env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the command", func() bool { return survivors(t, arg) > 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	until(t, "the session to be alone", func() bool {
		return strings.Contains(x.on(t, "doctor").stderr+x.on(t, "doctor").stdout, "waits for its client")
	})
	if survivors(t, arg) == 0 {
		t.Error("the command did not outlive its client")
	}
	r := x.on(t, "gc")
	if text := r.stdout + r.stderr; r.code != 0 || !strings.Contains(text, "1 session was removed") {
		t.Errorf("%+v", r)
	}
	until(t, "the command's end", func() bool { return survivors(t, arg) == 0 })
}

// doctor tells of the helpers of other versions on a host, and gc removes them.
func TestGCRemovesHelpersOfOtherVersions(t *testing.T) {
	home := t.TempDir()
	x := sshTarget(t, servers.StartSSHD(t, servers.SSHDOptions{Config: []string{"SetEnv HOME=" + home}}))
	if r := x.on(t, "tool", "ls"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	cache := filepath.Join(home, ".cache", "piremote")
	other := "helper-" + strings.Repeat("0f", 32)
	if err := os.WriteFile(filepath.Join(cache, other), []byte("a program"), 0o500); err != nil {
		t.Fatal(err)
	}
	r := x.on(t, "doctor")
	if text := r.stdout + r.stderr; !strings.Contains(text, other+" of another version") {
		t.Errorf("%+v", r)
	}
	r = x.on(t, "gc")
	if text := r.stdout + r.stderr; r.code != 0 || !strings.Contains(text, "removed "+other) || !strings.Contains(text, "1 helper of another version") {
		t.Errorf("%+v", r)
	}
	if left, err := filepath.Glob(filepath.Join(cache, "helper-*")); err != nil || len(left) != 1 || filepath.Base(left[0]) == other {
		t.Errorf("left are %q, %v", left, err)
	}
}

// until polls, with a generous limit.
func until(t *testing.T, what string, ready func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !ready(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

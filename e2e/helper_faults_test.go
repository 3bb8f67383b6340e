//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
)

// begun starts a tree of sleeping processes by the bash tool and returns when all of
// them were seen alive, with the run and what they have among their arguments.
func begun(t *testing.T, x target) (cmd *exec.Cmd, arg string) {
	t.Helper()
	const processes = 3
	arg = fmt.Sprint(time.Now().UnixNano()%1_000_000 + 7_000_000)
	script := fmt.Sprintf("sleep %s & (setsid sleep %s; true) & sleep %s", arg, arg, arg)
	cmd = exec.CommandContext(t.Context(), binary, "-w", x.address, "--helper", "require", "tool", "bash", "command="+script)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "USER=root"}, x.env...)
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	if !polled(30*time.Second, func() bool { seen = survivors(t, arg); return seen == processes }) {
		t.Errorf("%d processes were seen, want %d", seen, processes)
	}
	return cmd, arg
}

// polled reports whether something became true within a time.
func polled(limit time.Duration, ready func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !ready() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			return false
		}
	}
	return true
}

// gone checks that nothing is left of a tree: within 2 s, and some of a busy
// machine.
func gone(t *testing.T, arg string) {
	t.Helper()
	left := 0
	begin := time.Now()
	if !polled(5*time.Second, func() bool { left = survivors(t, arg); return left == 0 }) {
		t.Errorf("%d processes are left", left)
	}
	t.Logf("nothing was left after %v", time.Since(begin).Round(time.Millisecond))
}

// A client that is killed leaves nothing behind at a target where the helper works
// for it (hazard PROC-04).
func TestPROC04KilledClientLeavesNothing(t *testing.T) {
	for _, x := range targets(t)[1:] {
		t.Run(x.name, func(t *testing.T) {
			cmd, arg := begun(t, x)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			gone(t, arg)
		})
	}
}

// A container that is killed ends the call soon, with a sentence, and everything in
// it.
func TestPROC04KilledContainer(t *testing.T) {
	d := servers.StartDockerd(t)
	name := d.Run(t, servers.ContainerOptions{})
	x := target{name: "docker", address: "docker://" + name + "/", env: []string{"DOCKER_HOST=" + d.Host}}
	cmd, arg := begun(t, x)
	d.Stop(t, name)
	gone(t, arg)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the call succeeded")
		}
		t.Log(err)
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill() // it is the fault
		t.Error("the call goes on without its container: ", <-ended)
	}
}

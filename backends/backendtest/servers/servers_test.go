package servers

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"
)

func TestSSHDRunsACommand(t *testing.T) {
	s := StartSSHD(t, SSHDOptions{})
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("there is no ssh client")
	}
	cmd := exec.CommandContext(t.Context(), ssh, "-F", "none", "-p", fmt.Sprint(s.Port), "-i", s.Home+"/.ssh/id_ed25519", "-o", "UserKnownHostsFile="+s.Home+"/.ssh/known_hosts",
		"-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", s.User+"@"+s.Host, "echo ok")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestDockerdRunsAContainer(t *testing.T) {
	d := StartDockerd(t)
	name := d.Run(t, ContainerOptions{})
	c, err := d.client.ContainerInspect(context.Background(), name)
	if err != nil || !c.State.Running {
		t.Errorf("%+v, %v", c.State, err)
	}
}

//go:build unix

package servers

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/internal/require"
)

func TestMain(m *testing.M) {
	release := KeepDockerd()
	code := m.Run()
	release()
	os.Exit(code) //nolint:forbidigo // the end of a test's program
}

func TestSSHDRunsACommand(t *testing.T) {
	s := StartSSHD(t, SSHDOptions{})
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("there is no ssh client")
	}
	cmd := exec.CommandContext(t.Context(), ssh, "-F", s.Home+"/.ssh/config", "-o", "BatchMode=yes", "sshd", "echo ok")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestSSHDOptions(t *testing.T) {
	s := StartSSHD(t, SSHDOptions{NoSFTP: true, Config: []string{"ForceCommand echo forced"}})
	c := dial(t, s)
	session, err := c.NewSession()
	check(t, err)
	if out, err := session.Output("echo asked"); err != nil || string(out) != "forced\n" {
		t.Errorf("%q, %v", out, err)
	}
	session, err = c.NewSession()
	check(t, err)
	if err := session.RequestSubsystem("sftp"); err == nil {
		t.Error("there is a subsystem for SFTP")
	}
}

func TestSSHDAdmitsAnotherAccount(t *testing.T) {
	s := StartSSHD(t, SSHDOptions{Account: "nobody"})
	if got := dial(t, s).User(); got != "nobody" {
		t.Errorf("logged in as %q", got)
	}
}

func dial(t *testing.T, s *SSHD) *gossh.Client {
	t.Helper()
	text, err := os.ReadFile(s.IdentityFile)
	check(t, err)
	key, err := gossh.ParsePrivateKey(text)
	check(t, err)
	c, err := gossh.Dial("tcp", s.Address(), &gossh.ClientConfig{
		User: s.User, Auth: []gossh.AuthMethod{gossh.PublicKeys(key)}, HostKeyCallback: gossh.FixedHostKey(s.HostKey), Timeout: 10 * time.Second,
	})
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestDockerdRunsACommand(t *testing.T) {
	d := StartDockerd(t)
	name := d.Run(t, ContainerOptions{User: "1001", Tmpfs: map[string]string{"/scratch": "mode=1777"}})
	if got, want := execute(t, d, name, "id -u; pwd; cd /scratch && echo x >f && cat f"), "1001\n/ws\nx\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDebian(t *testing.T) {
	if !require.Demanded("debootstrap") {
		t.Skip("slow; PIREMOTE_REQUIRE=debootstrap asks for it")
	}
	d := StartDockerd(t)
	name := d.Run(t, ContainerOptions{Image: d.Debian(t)})
	if got, want := execute(t, d, name, "bash -c 'echo ${BASH_VERSION:+bash}'; pwd"), "bash\n/ws\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func execute(t *testing.T, d *Dockerd, name, script string) string {
	t.Helper()
	e, err := d.client.ContainerExecCreate(t.Context(), name, container.ExecOptions{Cmd: []string{"/bin/sh", "-c", script}, AttachStdout: true, AttachStderr: true})
	check(t, err)
	s, err := d.client.ContainerExecAttach(t.Context(), e.ID, container.ExecAttachOptions{})
	check(t, err)
	defer s.Close()
	var out strings.Builder
	_, err = stdcopy.StdCopy(&out, io.Discard, s.Reader)
	check(t, err)
	return out.String()
}

// A second process may come while the first leaves: the daemon is there for
// whoever holds it.
func TestDockerdIsShared(t *testing.T) {
	first := StartDockerd(t)
	t.Run("second", func(t *testing.T) {
		second := StartDockerd(t)
		if second.Host != first.Host {
			t.Errorf("%s and %s", first.Host, second.Host)
		}
	})
	if !first.answers() {
		t.Errorf("the daemon at %s ended while it was held", first.Host)
	}
}

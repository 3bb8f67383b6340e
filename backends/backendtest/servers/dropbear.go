//go:build unix

package servers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	gossh "golang.org/x/crypto/ssh"
)

// DropbearOptions adjusts a private Dropbear.
type DropbearOptions struct {
	Login Login    // the account that the key admits
	Hide  []string // programs of the machine that the sessions don't have
}

// StartDropbear starts a Dropbear on a free loopback port. It needs root.
func StartDropbear(tb testing.TB, o DropbearOptions) *SSHD {
	tb.Helper()
	program := dropbearProgram(tb, "dropbear", "/usr/sbin/dropbear")
	maker := dropbearProgram(tb, "dropbearkey", "/usr/bin/dropbearkey")
	s, dir, public := newSSHD(tb, o.Login.name(), &o.Login)
	hostKey, home := filepath.Join(dir, "host_key"), filepath.Join(dir, "account")
	s.AccountHome = home
	view := append(hidden(o.Hide...), o.Login.admit(tb, dir, home, home)...)
	admitted := filepath.Join(home, ".ssh", "authorized_keys")
	check(tb, os.MkdirAll(filepath.Dir(admitted), 0o700))
	check(tb, os.WriteFile(admitted, gossh.MarshalAuthorizedKey(public), 0o600))
	o.Login.own(tb, home)
	said, err := exec.CommandContext(tb.Context(), maker, "-t", "ed25519", "-f", hostKey).Output()
	check(tb, err)
	_, line, _ := bytes.Cut(said, []byte("ssh-ed25519 "))
	s.HostKey, _, _, _, err = gossh.ParseAuthorizedKey(append([]byte("ssh-ed25519 "), line...))
	check(tb, err)
	s.listen(tb, "dropbear", func() *exec.Cmd {
		return view.command(tb, program, "-F", "-E", "-s", "-m", "-r", hostKey, "-p", s.Address(), "-P", filepath.Join(dir, "pid"))
	})
	return s
}

func dropbearProgram(tb testing.TB, name, usual string) string {
	tb.Helper()
	if program, err := exec.LookPath(name); err == nil {
		return program
	}
	if !isFile(usual) {
		Missing(tb, "dropbear", "package dropbear-bin")
	}
	return usual
}

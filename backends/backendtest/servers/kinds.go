//go:build unix

package servers

import "testing"

// Kind is a kind of SSH server that people have.
type Kind struct {
	Name    string
	NoShell bool // it runs no commands
	NoSFTP  bool // no SFTP server is in reach
	Start   func(tb testing.TB) *SSHD
}

// account is the user id of an account without privileges.
const account = 1001

// Kinds returns the kinds of servers that a workspace has to work on. All of them
// need root.
func Kinds() []Kind {
	plain := func() *Login { return &Login{UID: account} }
	withShell := func(shell string) func(testing.TB) *SSHD {
		return openSSH(SSHDOptions{Login: &Login{UID: account, Shell: shell}})
	}
	noisy := "echo welcome to this machine\necho more noise >&2\nprintf 'no end of line'\n"
	return []Kind{
		{Name: "OpenSSH", Start: openSSH(SSHDOptions{Login: plain()})},
		{Name: "one session", Start: openSSH(SSHDOptions{Login: plain(), Config: []string{"MaxSessions 1"}})},
		{Name: "no subsystem", Start: openSSH(SSHDOptions{Login: plain(), NoSFTP: true})},
		{Name: "no SFTP server", NoSFTP: true, Start: openSSH(SSHDOptions{Login: plain(), NoSFTP: true, Hide: sftpServers()})},
		{Name: "SFTP only", NoShell: true, Start: openSSH(SSHDOptions{Login: plain(), Config: []string{"ForceCommand internal-sftp", "Subsystem sftp internal-sftp"}, NoSFTP: true})},
		{Name: "root", Start: openSSH(SSHDOptions{Login: &Login{}})},
		{Name: "fish", Start: withShell("fish")},
		{Name: "tcsh", Start: withShell("tcsh")},
		{Name: "noisy", Start: openSSH(SSHDOptions{Login: &Login{UID: account, Files: map[string]string{".bashrc": noisy}}})},
		{Name: "Dropbear", Start: func(tb testing.TB) *SSHD { return StartDropbear(tb, DropbearOptions{Login: *plain()}) }},
		{Name: "Dropbear without SFTP", NoSFTP: true, Start: func(tb testing.TB) *SSHD {
			return StartDropbear(tb, DropbearOptions{Login: *plain(), Hide: sftpServers()})
		}},
		{Name: "BusyBox", NoSFTP: true, Start: openSSH(SSHDOptions{Login: plain(), NoSFTP: true, BusyBox: true})},
	}
}

func openSSH(o SSHDOptions) func(testing.TB) *SSHD {
	return func(tb testing.TB) *SSHD { return StartSSHD(tb, o) }
}

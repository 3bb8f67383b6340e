//go:build unix

package servers

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"
)

// SSHDOptions adjusts a private sshd.
type SSHDOptions struct {
	// Config holds further lines of sshd_config; the first value of a keyword
	// counts, and these come first.
	Config []string
	// NoSFTP leaves out the SFTP subsystem.
	NoSFTP bool
	// Account is the account that the key admits, such as one with another
	// login shell; empty means the one that runs the test.
	Account string
}

// SSHD is a running sshd that admits one key of one account.
type SSHD struct {
	Host string
	Port int
	User string
	// Home is a client's home: .ssh/id_ed25519, .ssh/known_hosts, .ssh/config,
	// which knows the server as "sshd".
	Home         string
	IdentityFile string // the private key in Home
	KnownHosts   string // the known_hosts in Home
	// HostKey is the server's public key.
	HostKey gossh.PublicKey

	log *logs
}

// Log returns what the server has said so far, at most the last mebibyte or so.
func (s *SSHD) Log() string { return s.log.String() }

// Address is host:port.
func (s *SSHD) Address() string { return net.JoinHostPort(s.Host, fmt.Sprint(s.Port)) }

// StartSSHD starts an sshd on a free loopback port.
func StartSSHD(tb testing.TB, o SSHDOptions) *SSHD {
	tb.Helper()
	program, err := exec.LookPath("sshd")
	if err != nil {
		if program = "/usr/sbin/sshd"; !isFile(program) {
			Missing(tb, "sshd", "package openssh-server")
		}
	}
	me, err := user.Current()
	check(tb, err)
	if o.Account == "" {
		o.Account = me.Username
	}
	if me.Uid == "0" {
		check(tb, os.MkdirAll("/run/sshd", 0o755))
	} else if o.Account != me.Username {
		Missing(tb, "sshd", "admitting another account needs root")
	}
	dir := tb.TempDir()
	s := &SSHD{
		Host: "127.0.0.1", User: o.Account, Home: filepath.Join(dir, "home"),
		IdentityFile: filepath.Join(dir, "home", ".ssh", "id_ed25519"), KnownHosts: filepath.Join(dir, "home", ".ssh", "known_hosts"),
	}
	check(tb, os.MkdirAll(filepath.Dir(s.IdentityFile), 0o700))
	s.HostKey = writeKey(tb, filepath.Join(dir, "host_key"))
	public := writeKey(tb, s.IdentityFile)
	admitted := filepath.Join(dir, "authorized_keys")
	check(tb, os.WriteFile(admitted, gossh.MarshalAuthorizedKey(public), 0o600))
	keys := "AuthorizedKeysFile " + admitted
	if o.Account != me.Username {
		// sshd reads the file as the account, which can't enter the folder.
		keys = "AuthorizedKeysFile none\nAuthorizedKeysCommandUser root\nAuthorizedKeysCommand " + catProgram() + " " + admitted
	}

	log := &logs{}
	s.log = log
	log.showIfFailed(tb, "sshd")
	const attempts = 3 // the free port may be taken by someone else meanwhile
	for range attempts {
		s.Port = freePort(tb)
		config := filepath.Join(dir, "sshd_config")
		check(tb, os.WriteFile(config, sshdConfig(s, o, filepath.Join(dir, "host_key"), keys), 0o600))
		if s.serve(tb, program, config, log) {
			s.writeClientFiles(tb)
			return s
		}
	}
	tb.Fatalf("sshd does not listen:\n%s", log)
	return nil
}

func sshdConfig(s *SSHD, o SSHDOptions, hostKey, keys string) []byte {
	lines := append([]string(nil), o.Config...)
	if !o.NoSFTP {
		lines = append(lines, "Subsystem sftp "+sftpServer())
	}
	lines = append(lines,
		"ListenAddress "+s.Address(), "HostKey "+hostKey, keys, "PidFile none", "StrictModes no", "UsePAM no",
		"PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin yes", "LogLevel VERBOSE", "MaxStartups 100",
		"PrintMotd no", "PrintLastLog no", "UseDNS no",
	)
	return []byte(strings.Join(lines, "\n") + "\n")
}

// serve starts the server in a group of its own, so that its sessions end with
// it, and reports whether it listens.
func (s *SSHD) serve(tb testing.TB, program, config string, log *logs) bool {
	tb.Helper()
	cmd := exec.Command(program, "-D", "-e", "-f", config)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = log, log, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check(tb, cmd.Start())
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the log says why it ended
		close(exited)
	}()
	tb.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		<-exited
	})
	gone := false
	until(10*time.Second, func() bool {
		select {
		case <-exited:
			gone = true
		default:
		}
		return gone || listens(s.Address())
	})
	return !gone && listens(s.Address())
}

// writeClientFiles fills the client's home.
func (s *SSHD) writeClientFiles(tb testing.TB) {
	tb.Helper()
	check(tb, os.WriteFile(s.KnownHosts, fmt.Appendf(nil, "[%s]:%d %s", s.Host, s.Port, gossh.MarshalAuthorizedKey(s.HostKey)), 0o600))
	check(tb, os.WriteFile(filepath.Join(s.Home, ".ssh", "config"), fmt.Appendf(nil,
		"Host sshd\n\tHostName %s\n\tPort %d\n\tUser %s\n\tIdentityFile %s\n\tIdentitiesOnly yes\n\tUserKnownHostsFile %s\n",
		s.Host, s.Port, s.User, s.IdentityFile, s.KnownHosts), 0o600))
}

func sftpServer() string {
	for _, p := range []string{"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server"} {
		if isFile(p) {
			return p
		}
	}
	return "internal-sftp"
}

// catProgram is cat by a path that sshd accepts for a command: absolute, and
// no link on the way.
func catProgram() string {
	if p, err := filepath.EvalSymlinks("/bin/cat"); err == nil {
		return p
	}
	return "/usr/bin/cat"
}

func writeKey(tb testing.TB, file string) gossh.PublicKey {
	tb.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	check(tb, err)
	block, err := gossh.MarshalPrivateKey(private, "")
	check(tb, err)
	check(tb, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	key, err := gossh.NewPublicKey(public)
	check(tb, err)
	return key
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(tb, err)
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		tb.Fatal("the listener has no port")
	}
	check(tb, l.Close())
	return addr.Port
}

func listens(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

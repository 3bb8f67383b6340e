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
}

// SSHD is a running sshd that admits one key of the account that runs the test.
type SSHD struct {
	Host string
	Port int
	User string
	// Home is a client's home: .ssh/id_ed25519, .ssh/known_hosts, .ssh/config.
	Home string
}

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
	dir := tb.TempDir()
	s := &SSHD{Host: "127.0.0.1", Port: freePort(tb), User: me.Username, Home: filepath.Join(dir, "home")}
	hostPublic := writeKey(tb, filepath.Join(dir, "host_key"))
	check(tb, os.MkdirAll(filepath.Join(s.Home, ".ssh"), 0o700))
	public := writeKey(tb, filepath.Join(s.Home, ".ssh", "id_ed25519"))
	check(tb, os.WriteFile(filepath.Join(dir, "authorized_keys"), gossh.MarshalAuthorizedKey(public), 0o600))
	check(tb, os.WriteFile(filepath.Join(s.Home, ".ssh", "known_hosts"),
		fmt.Appendf(nil, "[%s]:%d %s", s.Host, s.Port, gossh.MarshalAuthorizedKey(hostPublic)), 0o600))
	check(tb, os.WriteFile(filepath.Join(s.Home, ".ssh", "config"), nil, 0o600))

	lines := append([]string(nil), o.Config...)
	if !o.NoSFTP {
		lines = append(lines, "Subsystem sftp "+sftpServer())
	}
	lines = append(lines,
		fmt.Sprintf("ListenAddress %s:%d", s.Host, s.Port), "HostKey "+filepath.Join(dir, "host_key"),
		"AuthorizedKeysFile "+filepath.Join(dir, "authorized_keys"), "PidFile none", "StrictModes no", "UsePAM no",
		"PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin yes", "LogLevel VERBOSE", "MaxStartups 100",
		"PrintMotd no", "PrintLastLog no", "UseDNS no",
		"SetEnv SHLVL=2", // bash then reads no start-up file of the account, which may take any time
	)
	config := filepath.Join(dir, "sshd_config")
	check(tb, os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	if me.Uid == "0" {
		check(tb, os.MkdirAll("/run/sshd", 0o755))
	}
	log := &logs{}
	cmd := exec.Command(program, "-D", "-e", "-f", config)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = log, log, time.Second
	check(tb, cmd.Start())
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		if err := <-exited; err == nil {
			tb.Log("sshd ended by itself")
		}
	})
	log.showIfFailed(tb, "sshd")
	if !until(10*time.Second, func() bool { return listens(s.Address()) }) {
		tb.Fatalf("sshd does not listen on %s:\n%s", s.Address(), log)
	}
	return s
}

func sftpServer() string {
	for _, p := range []string{"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server"} {
		if isFile(p) {
			return p
		}
	}
	return "internal-sftp"
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

func isFile(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.Mode().IsRegular()
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

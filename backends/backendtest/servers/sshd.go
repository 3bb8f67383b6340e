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
	"slices"
	"strings"
	"sync/atomic"
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
	// Login is an account of the server's own, in the place of Account.
	Login *Login
	// Hide names programs of the machine that the server's sessions don't have.
	Hide []string
	// BusyBox gives the sessions a root of their own, whose only programs are
	// those of BusyBox. It needs Login.
	BusyBox bool
}

// SSHD is a running SSH server that admits one key of one account.
type SSHD struct {
	Host string
	Port int
	User string
	// Home is a client's home: .ssh/id_ed25519, .ssh/known_hosts, .ssh/config,
	// which knows the server as "sshd".
	Home         string
	IdentityFile string // the private key in Home
	KnownHosts   string // the known_hosts in Home
	// AccountHome is the home that the sessions see; empty where it is that of
	// another account of the machine.
	AccountHome string
	// HostKey is the server's public key.
	HostKey gossh.PublicKey
	// Root is the folder that the sessions have as their root; empty means that
	// of the machine.
	Root string

	log     *logs
	login   *Login
	folders atomic.Int64
}

// Log returns what the server has said so far, at most the last mebibyte or so.
func (s *SSHD) Log() string { return s.log.String() }

// Address is host:port.
func (s *SSHD) Address() string { return net.JoinHostPort(s.Host, fmt.Sprint(s.Port)) }

// Folder makes a folder that is the account's own, and returns its paths on this
// machine and in a session.
func (s *SSHD) Folder(tb testing.TB) (host, inside string) {
	tb.Helper()
	if s.Root == "" {
		host = filepath.Join(openFolder(tb), "ws")
		inside = host
	} else {
		inside = fmt.Sprintf("/ws/%d/dir", s.folders.Add(1))
		host = filepath.Join(s.Root, inside)
	}
	check(tb, os.MkdirAll(host, 0o755))
	if s.login != nil {
		s.login.own(tb, filepath.Dir(host))
	}
	return host, inside
}

// UID is the account's, or -1 for the one that runs the test.
func (s *SSHD) UID() int {
	if s.login == nil {
		return -1
	}
	return s.login.UID
}

// StartSSHD starts an sshd on a free loopback port.
func StartSSHD(tb testing.TB, o SSHDOptions) *SSHD {
	tb.Helper()
	program := sshdProgram(tb)
	me, err := user.Current()
	check(tb, err)
	if o.Login != nil {
		o.Account = o.Login.name()
	}
	if o.Account == "" {
		o.Account = me.Username
	}
	if me.Uid == "0" {
		check(tb, os.MkdirAll("/run/sshd", 0o755))
	} else if o.Account != me.Username {
		Missing(tb, "sshd", "admitting another account needs root")
	}
	s, dir, public := newSSHD(tb, o.Account, o.Login)
	s.HostKey = writeKey(tb, filepath.Join(dir, "host_key"))
	if o.Login == nil && o.Account == me.Username {
		s.AccountHome = emptyHome(tb, &o)
	}
	view := s.view(tb, dir, &o)
	admitted := filepath.Join(dir, "authorized_keys")
	check(tb, os.WriteFile(admitted, gossh.MarshalAuthorizedKey(public), 0o600))
	keys := "AuthorizedKeysFile " + admitted
	if o.Account != me.Username || o.Login != nil {
		// sshd reads the file as the account, which can't enter the folder.
		keys = "AuthorizedKeysFile none\nAuthorizedKeysCommandUser root\nAuthorizedKeysCommand " + catProgram() + " " + admitted
	}
	s.listen(tb, "sshd", func() *exec.Cmd {
		config := filepath.Join(dir, "sshd_config")
		check(tb, os.WriteFile(config, sshdConfig(s, o, filepath.Join(dir, "host_key"), keys), 0o600))
		return view.command(tb, program, "-D", "-e", "-f", config)
	})
	return s
}

// emptyHome gives the sessions of the machine's own account a home without
// start-up files, unless the configuration sets an environment: what the
// machine's user has there says nothing about piremote, and may take a second.
func emptyHome(tb testing.TB, o *SSHDOptions) string {
	tb.Helper()
	for _, line := range o.Config {
		if home, ok := strings.CutPrefix(line, "SetEnv HOME="); ok {
			return home
		}
	}
	home := filepath.Join(openFolder(tb), "home")
	check(tb, os.MkdirAll(home, 0o700))
	o.Config = append(slices.Clone(o.Config), "SetEnv HOME="+home)
	return home
}

func sshdProgram(tb testing.TB) string {
	tb.Helper()
	program, err := exec.LookPath("sshd")
	if err != nil {
		if program = "/usr/sbin/sshd"; !isFile(program) {
			Missing(tb, "sshd", "package openssh-server")
		}
	}
	return program
}

// newSSHD makes the client's home and key, and returns the server's folder and the
// key to be admitted.
func newSSHD(tb testing.TB, account string, login *Login) (s *SSHD, dir string, public gossh.PublicKey) {
	tb.Helper()
	dir = openFolder(tb)
	s = &SSHD{
		Host: "127.0.0.1", User: account, Home: filepath.Join(dir, "home"), log: &logs{}, login: login,
		IdentityFile: filepath.Join(dir, "home", ".ssh", "id_ed25519"), KnownHosts: filepath.Join(dir, "home", ".ssh", "known_hosts"),
	}
	check(tb, os.MkdirAll(filepath.Dir(s.IdentityFile), 0o700))
	return s, dir, writeKey(tb, s.IdentityFile)
}

// view makes what the server's sessions see in the place of the machine's files.
func (s *SSHD) view(tb testing.TB, dir string, o *SSHDOptions) place {
	tb.Helper()
	view := hidden(o.Hide...)
	if o.Login == nil {
		return view
	}
	home := filepath.Join(dir, "account")
	inside := home
	if o.BusyBox {
		s.Root = busyBoxRoot(tb, dir)
		inside = "/home/" + o.Login.name()
		home = filepath.Join(s.Root, inside)
		// sshd wants a root above which nobody else can write.
		view = append(view, mount{from: s.Root, over: chrootFolder}, mount{from: "/dev", over: chrootFolder + "/dev"}, mount{from: "/proc", over: chrootFolder + "/proc"})
		o.Config = append(o.Config, "ChrootDirectory "+chrootFolder)
	}
	s.AccountHome = inside
	return append(view, o.Login.admit(tb, dir, home, inside)...)
}

// listen starts the server on a free port, and fills the client's home.
func (s *SSHD) listen(tb testing.TB, name string, command func() *exec.Cmd) {
	tb.Helper()
	s.log.showIfFailed(tb, name)
	const attempts = 3 // the free port may be taken by someone else meanwhile
	for range attempts {
		s.Port = freePort(tb)
		if s.serve(tb, command()) {
			s.writeClientFiles(tb)
			return
		}
	}
	tb.Fatalf("%s does not listen:\n%s", name, s.log)
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
func (s *SSHD) serve(tb testing.TB, cmd *exec.Cmd) bool {
	tb.Helper()
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.log, s.log, time.Second
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
	for _, p := range sftpServers() {
		if isFile(p) {
			return p
		}
	}
	return "internal-sftp"
}

// sftpServers are the places of OpenSSH's SFTP server.
func sftpServers() []string {
	return []string{"/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server", "/usr/lib/sftp-server"}
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

package ssh

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/internal/require"
	"github.com/piremote/piremote/tools/ops"
)

// keygen runs OpenSSH's ssh-keygen.
func keygen(t *testing.T, args ...string) {
	t.Helper()
	program, err := exec.LookPath("ssh-keygen")
	if err != nil {
		require.Missing(t, "ssh", "package openssh-client")
	}
	if out, err := exec.Command(program, append([]string{"-q"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen %q: %v\n%s", args, err, out)
	}
}

// newKey makes a pair of keys and returns the private one's file.
func newKey(t *testing.T, kind string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	keygen(t, "-t", kind, "-N", "", "-f", file)
	return file
}

// enter connects to a server.
func enter(t *testing.T, s *servers.SSHD, change func(*Options)) error {
	t.Helper()
	o, _ := optionsFor(t, s)
	o.ConnectTimeout = time.Minute // the machine may be busy
	change(&o)
	return try(t, o)
}

// A key that only a certificate admits, of each kind, beside its key, by
// CertificateFile and in the agent.
func TestUserCertificatesOfARealServer(t *testing.T) {
	authority := newKey(t, "ed25519")
	s := servers.StartSSHD(t, servers.SSHDOptions{Config: []string{"TrustedUserCAKeys " + authority + ".pub"}})
	sign := func(key, principal, validity string) {
		keygen(t, "-s", authority, "-I", "somebody", "-n", principal, "-V", validity, key+".pub")
	}
	const always = "always:forever"
	with := func(key string) error {
		return enter(t, s, func(o *Options) { o.IdentityFiles, o.IdentitiesOnly = []string{key}, true })
	}
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		key := newKey(t, kind)
		wantKind(t, kind+" without a certificate", with(key), ops.KindAuth)
		sign(key, s.User, always)
		if err := with(key); err != nil {
			t.Errorf("%s beside its key: %v", kind, err)
		}
		cert := filepath.Join(t.TempDir(), "elsewhere.pub")
		must(t, os.Rename(key+"-cert.pub", cert))
		if err := enter(t, s, func(o *Options) {
			o.ConfigFile = filepath.Join(t.TempDir(), "config")
			must(t, os.WriteFile(o.ConfigFile, fmt.Appendf(nil, "IdentityFile %s\nCertificateFile %s\nIdentitiesOnly yes\n", key, cert), 0o600))
		}); err != nil {
			t.Errorf("%s by CertificateFile: %v", kind, err)
		}
		if err := enter(t, s, func(o *Options) { o.AgentSocket, o.IdentityFiles = serveKeys(t, key, cert), []string{key} }); err != nil {
			t.Errorf("%s in the agent: %v", kind, err)
		}
	}
	other, old := newKey(t, "ed25519"), newKey(t, "ed25519")
	sign(other, "somebody-else", always)
	wantKind(t, "for another account", with(other), ops.KindAuth, "publickey", other)
	sign(old, s.User, "20200101:20200102")
	wantKind(t, "of the past", with(old), ops.KindAuth, "publickey", old)
}

// serveKeys serves an agent that has a key, with a certificate if there is one.
func serveKeys(t *testing.T, key, cert string) string {
	t.Helper()
	private, err := gossh.ParseRawPrivateKey(must2(t, key))
	must(t, err)
	public, _, _, _, err := gossh.ParseAuthorizedKey(must2(t, cert))
	must(t, err)
	c, ok := public.(*gossh.Certificate)
	if !ok {
		t.Fatalf("%s holds no certificate", cert)
	}
	ring := agent.NewKeyring()
	must(t, ring.Add(agent.AddedKey{PrivateKey: private, Certificate: c}))
	return startAgent(t, 0, func(c net.Conn) { _ = agent.ServeAgent(ring, c) })
}

// A server that shows a host certificate is known by its authority alone (hazard
// SSHC-05).
func TestSSHC05HostCertificatesOfARealServer(t *testing.T) {
	authority := newKey(t, "ed25519")
	trusted := "@cert-authority * " + string(must2(t, authority+".pub"))
	for _, c := range []struct {
		name, kind, principal, validity, known string
		accept                                 bool // new keys
		words                                  []string
	}{
		{name: "ed25519", kind: "ed25519"},
		{name: "rsa", kind: "rsa"},
		{name: "no authority", kind: "ed25519", known: "\n", words: []string{"not known", "ssh-ed25519"}},
		{name: "another authority", kind: "ed25519", known: "@cert-authority * " + string(must2(t, newKey(t, "ed25519")+".pub")), words: []string{"not known", "ssh-ed25519"}},
		{name: "no authority, and new keys are accepted", kind: "ed25519", known: "\n", accept: true},
		{name: "another authority, and the key itself", kind: "ed25519", known: "@cert-authority * " + string(must2(t, newKey(t, "ed25519")+".pub")) + "THIS"},
		{name: "another host", kind: "ed25519", principal: "elsewhere.example", words: []string{"127.0.0.1"}},
		{name: "the past", kind: "ed25519", validity: "20200101:20200102", words: []string{"expired"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			key := newKey(t, c.kind)
			keygen(t, "-h", "-s", authority, "-I", "host", "-n", or(c.principal, "127.0.0.1"), "-V", or(c.validity, "always:forever"), key+".pub")
			s := servers.StartSSHD(t, servers.SSHDOptions{Config: []string{"HostKey " + key, "HostCertificate " + key + "-cert.pub"}})
			err := enter(t, s, func(o *Options) {
				o.IdentityFiles = []string{s.IdentityFile}
				o.AcceptNew = c.accept
				own := fmt.Sprintf("[%s]:%d %s", s.Host, s.Port, must2(t, key+".pub"))
				must(t, os.WriteFile(o.KnownHosts[0], []byte(strings.ReplaceAll(or(c.known, trusted), "THIS", own)), 0o600))
			})
			if c.words == nil {
				must(t, err)
				return
			}
			wantKind(t, c.name, err, ops.KindHostKey, c.words...)
			if strings.Contains(s.Log(), "Accepted publickey") {
				t.Error("the key was shown to a host that is not trusted")
			}
		})
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// A key that OpenSSH encrypted is asked for when the server wants it, and not where
// the agent has it.
func TestEncryptedKeyOfARealServer(t *testing.T) {
	const passphrase = "correct horse; battery"
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	open := string(must2(t, s.IdentityFile))
	keygen(t, "-p", "-a", "1", "-N", passphrase, "-f", s.IdentityFile)
	if open == string(must2(t, s.IdentityFile)) {
		t.Fatal("the key is not encrypted")
	}
	asked := 0
	answer := func(text string) func(*Options) {
		return func(o *Options) {
			o.Passphrase = func(_ context.Context, file string) ([]byte, error) {
				asked++
				if file != s.IdentityFile {
					t.Errorf("asked for %s", file)
				}
				return []byte(text), nil
			}
		}
	}
	wantKind(t, "nobody to ask", enter(t, s, func(*Options) {}), ops.KindAuth)
	if err := enter(t, s, answer(passphrase)); err != nil || asked != 1 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	err := enter(t, s, answer("wrong "+passphrase))
	wantKind(t, "a wrong one", err, ops.KindAuth)
	if err != nil && strings.Contains(err.Error(), passphrase) {
		t.Errorf("the error tells what was typed: %v", err)
	}
	asked = 0
	ring := agent.NewKeyring()
	private, err := gossh.ParseRawPrivateKey([]byte(open))
	must(t, err)
	must(t, ring.Add(agent.AddedKey{PrivateKey: private}))
	socket := startAgent(t, 0, func(c net.Conn) { _ = agent.ServeAgent(ring, c) })
	if err := enter(t, s, func(o *Options) { answer(passphrase)(o); o.AgentSocket = socket }); err != nil || asked != 0 {
		t.Errorf("with the agent: %v, asked %d times", err, asked)
	}
}

// A real server counts each key that it is shown (hazard SSHC-08).
func TestSSHC08ManyKeysAndARealServer(t *testing.T) {
	const tries = 3
	start := func(t *testing.T) *servers.SSHD {
		t.Helper()
		return servers.StartSSHD(t, servers.SSHDOptions{Config: []string{fmt.Sprintf("MaxAuthTries %d", tries)}})
	}
	failures := func(s *servers.SSHD) int { return strings.Count(s.Log(), "Failed publickey") }

	t.Run("a named key comes first", func(t *testing.T) {
		s := start(t)
		if err := enter(t, s, func(o *Options) {
			o.AgentSocket, o.IdentityFiles = startAgent(t, 8, nil), []string{s.IdentityFile, s.IdentityFile}
		}); err != nil || failures(s) != 0 {
			t.Errorf("%v, after %d others", err, failures(s))
		}
	})
	t.Run("also if the agent has it", func(t *testing.T) {
		s := start(t)
		ring := agent.NewKeyring()
		for range 8 {
			_, private := newPair(t)
			must(t, ring.Add(agent.AddedKey{PrivateKey: private}))
		}
		private, err := gossh.ParseRawPrivateKey(must2(t, s.IdentityFile))
		must(t, err)
		must(t, ring.Add(agent.AddedKey{PrivateKey: private}))
		socket := startAgent(t, 0, func(c net.Conn) { _ = agent.ServeAgent(ring, c) })
		if err := enter(t, s, func(o *Options) { o.AgentSocket, o.IdentityFiles = socket, []string{s.IdentityFile} }); err != nil || failures(s) != 0 {
			t.Errorf("%v, after %d others", err, failures(s))
		}
	})
	t.Run("each once, as many as there may be", func(t *testing.T) {
		s := start(t)
		if err := enter(t, s, func(o *Options) { o.AgentSocket = startAgent(t, tries-1, nil) }); err != nil || failures(s) != tries-1 {
			t.Errorf("%v, after %d others", err, failures(s))
		}
	})
	t.Run("too many are told", func(t *testing.T) {
		s := start(t)
		err := enter(t, s, func(o *Options) {
			o.AgentSocket, o.IdentityFiles = startAgent(t, 8, nil), []string{newKey(t, "ed25519")}
		})
		wantKind(t, "8 keys", err, ops.KindAuth, "the server accepts: publickey", "agent")
		if err == nil {
			return
		}
		shown := failures(s)
		if told := strings.Count(err.Error(), "SHA256:"); shown != tries || told < shown || told > shown+1 {
			t.Errorf("the server was shown %d keys, the error tells of %d: %v", shown, told, err)
		}
		for _, part := range strings.Split(err.Error(), "SHA256:")[1:] {
			if print, _, _ := strings.Cut(part, " "); strings.Count(s.Log(), "SHA256:"+print) > 1 {
				t.Errorf("the key SHA256:%s was shown more than once", print)
			}
		}
	})
}

//go:build linux

package ssh

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gossh "golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/piremote/piremote/tools/ops"
)

func newPair(t *testing.T) (ed25519.PublicKey, *ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	return public, &private
}

// nonceReader is the random source of certificates in tests.
type nonceReader struct{}

// Read implements io.Reader.
func (nonceReader) Read(p []byte) (int, error) { return rand.Read(p) }

// known writes the server's known_hosts anew and returns the file.
func known(t *testing.T, o Options, lines ...string) string {
	t.Helper()
	file := filepath.Join(o.Home, ".ssh", "known_hosts")
	must(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	return file
}

func try(t *testing.T, o Options) error {
	t.Helper()
	o = o.withDefaults()
	h, err := resolve(t.Context(), o, o.Host, o.User, o.Port)
	must(t, err)
	c := newConnection(o, h)
	defer c.close()
	_, err = c.get(t.Context())
	return err
}

func TestSSHC03UnknownChangedRevoked(t *testing.T) {
	f := startFake(t, nil)
	addr, o := f.listener.Addr().String(), f.options(t)
	mine := gossh.FingerprintSHA256(f.key.PublicKey())
	other := newSigner(t).PublicKey()

	file := known(t, o)
	err := try(t, o)
	line := xknownhosts.Line([]string{addr}, f.key.PublicKey())
	wantKind(t, "unknown", err, ops.KindHostKey, mine, line, file, "[127.0.0.1]:")
	if data, _ := os.ReadFile(file); len(data) > 0 {
		t.Errorf("something was recorded: %q", data)
	}
	known(t, o, xknownhosts.Line([]string{addr}, other))
	for _, o.AcceptNew = range []bool{false, true} {
		wantKind(t, "changed", try(t, o), ops.KindHostKey, mine, gossh.FingerprintSHA256(other), "changed")
	}
	// The same name on port 22 says nothing about this port.
	known(t, o, xknownhosts.Line([]string{"127.0.0.1"}, other))
	o.AcceptNew = false
	wantKind(t, "another port", try(t, o), ops.KindHostKey, "not known")
	known(t, o, line, "@revoked * "+strings.TrimSpace(string(gossh.MarshalAuthorizedKey(f.key.PublicKey()))))
	wantKind(t, "revoked", try(t, o), ops.KindHostKey, "revoked")
}

func TestSSHC03MalformedLineIsANotice(t *testing.T) {
	f := startFake(t, nil)
	o := f.options(t)
	var n notices
	o.Notice = n.add
	text := []string{"# comment", "not a line", "|1|bad|worse ssh-ed25519 AAAA", xknownhosts.Line([]string{f.listener.Addr().String()}, f.key.PublicKey()), "half ssh-ed25519 AAAAC3"}
	file := known(t, o, text...)
	must(t, try(t, o))
	if !strings.Contains(n.String(), "line 2") || strings.Contains(n.String(), "line 1 ") {
		t.Errorf("notices: %s", n.String())
	}
	if data, _ := os.ReadFile(file); string(data) != strings.Join(text, "\n") {
		t.Errorf("the file was changed: %q", data)
	}
}

func TestSSHC03AcceptNewAppendsOnce(t *testing.T) {
	f := startFake(t, nil)
	o := f.options(t)
	o.AcceptNew = true
	before := "# kept\nsome.host ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHfoV3iH1dQmqz4sYnQO3e0N7G5kLq4o0o8pQKq9b0mE"
	file := known(t, o, before)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			if err := try(t, o); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(file)
	must(t, err)
	want := before + "\n" + xknownhosts.Line([]string{f.listener.Addr().String()}, f.key.PublicKey()) + "\n"
	if string(data) != want {
		t.Errorf("known_hosts is\n%s\nwant\n%s", data, want)
	}
	o.AcceptNew = false
	must(t, try(t, o))
	o.AcceptNew = true
	o.KnownHosts = []string{"/proc/none/known_hosts"}
	wantKind(t, "a file that can't be written", try(t, o), ops.KindHostKey, "can't be recorded")
}

func TestSSHC05RecordedKindDecidesTheAlgorithm(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	rsaSigner, err := gossh.NewSignerFromKey(rsaKey)
	must(t, err)
	ecSigner, err := gossh.NewSignerFromKey(ecKey)
	must(t, err)
	f := startFake(t, func(f *fakeServer) {
		f.config.AddHostKey(rsaSigner)
		f.config.AddHostKey(ecSigner)
	})
	addr, o := f.listener.Addr().String(), f.options(t)
	for _, k := range []gossh.PublicKey{rsaSigner.PublicKey(), ecSigner.PublicKey(), f.key.PublicKey()} {
		known(t, o, xknownhosts.Line([]string{addr}, k))
		if err := try(t, o); err != nil {
			t.Errorf("only %s: %v", k.Type(), err)
		}
		known(t, o, xknownhosts.HashHostname(xknownhosts.Normalize(addr))+" "+strings.TrimSpace(string(gossh.MarshalAuthorizedKey(k))))
		if err := try(t, o); err != nil {
			t.Errorf("only %s, hashed: %v", k.Type(), err)
		}
	}
	second, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	secondSigner, err := gossh.NewSignerFromKey(second)
	must(t, err)
	known(t, o, xknownhosts.Line([]string{addr}, secondSigner.PublicKey()))
	wantKind(t, "changed key of the same kind", try(t, o), ops.KindHostKey, gossh.FingerprintSHA256(secondSigner.PublicKey()), gossh.FingerprintSHA256(rsaSigner.PublicKey()))
}

func TestSSHC05HostCertificate(t *testing.T) {
	ca, host := newSigner(t), newSigner(t)
	cert := &gossh.Certificate{Key: host.PublicKey(), CertType: gossh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: gossh.CertTimeInfinity}
	must(t, cert.SignCert(nonceReader{}, ca))
	signer, err := gossh.NewCertSigner(cert, host)
	must(t, err)
	f := startFake(t, func(f *fakeServer) { f.config.AddHostKey(signer) })
	o := f.options(t)
	key := strings.TrimSpace(string(gossh.MarshalAuthorizedKey(ca.PublicKey())))
	known(t, o, "@cert-authority "+xknownhosts.Normalize(f.listener.Addr().String())+" "+key)
	if err := try(t, o); err != nil {
		t.Error(err)
	}
}

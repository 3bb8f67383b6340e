//go:build linux

package docker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/tools/ops"
)

// authority signs certificates for this machine.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{key: newKey(t)}
	a.cert = a.sign(t, a.key, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a authority) sign(t *testing.T, key *ecdsa.PrivateKey, c *x509.Certificate) *x509.Certificate {
	t.Helper()
	c.SerialNumber, c.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: "piremote test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// issue writes ca.pem, cert.pem and key.pem of a new certificate.
func (a authority) issue(t *testing.T, usage x509.ExtKeyUsage) (dir string) {
	t.Helper()
	dir = t.TempDir()
	key := newKey(t)
	cert := a.sign(t, key, &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{usage}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]pem.Block{
		"ca.pem": {Type: "CERTIFICATE", Bytes: a.cert.Raw}, "cert.pem": {Type: "CERTIFICATE", Bytes: cert.Raw}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tlsProxy forwards to a socket from clients with a certificate of its authority, and
// returns how it is reached.
func tlsProxy(t *testing.T, socket string) Options {
	t.Helper()
	a := newAuthority(t)
	dir := a.issue(t, x509.ExtKeyUsageServerAuth)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(group.Wait)
	t.Cleanup(func() { _ = l.Close() })
	group.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).Dial("unix", socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			group.Go(func() { relay(server, client) })
			group.Go(func() { relay(client, server); _ = client.Close() })
		}
	})
	return dockerTLS("tcp://"+l.Addr().String(), a.issue(t, x509.ExtKeyUsageClientAuth))
}

// relay copies one direction and ends it.
func relay(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if c, ok := to.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}

// dockerTLS is the environment of a daemon with TLS.
func dockerTLS(host, dir string) Options {
	env := map[string]string{"DOCKER_HOST": host, "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": dir}
	return Options{Getenv: func(name string) string { return env[name] }}
}

// A daemon that can't be trusted, or that does not trust the client, is named.
func TestDKX11TLSIsVerifiedOnBothSides(t *testing.T) {
	t.Parallel()
	d := servers.StartDockerd(t)
	good := tlsProxy(t, strings.TrimPrefix(d.Host, "unix://"))
	host := good.Getenv("DOCKER_HOST")
	stranger := newAuthority(t).issue(t, x509.ExtKeyUsageClientAuth)
	nameless := t.TempDir()
	ca, err := os.ReadFile(filepath.Join(good.Getenv("DOCKER_CERT_PATH"), "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(nameless, "ca.pem"), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "ca.pem"), []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o     Options
		words string
	}{
		"a strange daemon": {dockerTLS(host, stranger), "certificate"},
		"no certificate":   {dockerTLS(host, nameless), "certificate"},
		"a broken file":    {dockerTLS(host, broken), "ca.pem"},
		"plain":            {Options{Host: host}, "can't be reached"},
	} {
		c.o.Container = "app"
		_, err := Open(t.Context(), c.o)
		if ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), host) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

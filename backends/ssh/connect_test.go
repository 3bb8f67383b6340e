//go:build linux

package ssh

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/backends/internal/redial"
	"github.com/piremote/piremote/tools/ops"
)

// silent starts a listener that says text and then nothing.
func silent(t *testing.T, text string) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				_, _ = io.WriteString(c, text)
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("no TCP address")
	}
	return addr.Port
}

func TestSSHC01SilentServerIsBoundedAndNamesThePhase(t *testing.T) {
	for name, c := range map[string]struct{ text, phase string }{
		"banner": {"", "banner"}, "kex": {"SSH-2.0-stalled\r\n", "key exchange"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Host: "127.0.0.1", Port: silent(t, c.text), User: "u", ConfigFile: "none", ConnectTimeout: 300 * time.Millisecond}
			begin := time.Now()
			_, err := Open(t.Context(), o)
			wantKind(t, "open", err, ops.KindUnavailable, c.phase, "127.0.0.1:")
			if d := time.Since(begin); d > 3*time.Second {
				t.Errorf("took %v", d)
			}
			ctx, cancel := context.WithCancel(t.Context())
			o.ConnectTimeout = time.Minute
			time.AfterFunc(100*time.Millisecond, cancel)
			begin = time.Now()
			_, err = Open(ctx, o)
			wantIs(t, "cancelled", err, context.Canceled)
			if d := time.Since(begin); d > 3*time.Second {
				t.Errorf("cancel took %v", d)
			}
		})
	}
}

func TestSSHC01StalledAuthenticationIsBounded(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	f := startFake(t, func(f *fakeServer) {
		f.config = &gossh.ServerConfig{PublicKeyCallback: func(gossh.ConnMetadata, gossh.PublicKey) (*gossh.Permissions, error) {
			<-stop
			return nil, errors.New("no")
		}}
	})
	o := f.options(t)
	o.ConnectTimeout = 500 * time.Millisecond
	o.IdentityFiles = []string{filepath.Join(o.Home, "key")}
	writeKey(t, o.IdentityFiles[0], "")
	_, err := Open(t.Context(), o)
	wantKind(t, "open", err, ops.KindUnavailable, "authentication was not complete")
}

func TestSSHC01DeadlineIsGoneAfterTheStart(t *testing.T) {
	f := startFake(t, func(f *fakeServer) { f.subsystem = realSFTP })
	o := f.options(t)
	o.ConnectTimeout = time.Second
	o.Dir = t.TempDir()
	w, err := Open(t.Context(), o)
	must(t, err)
	defer func() { must(t, w.Close()) }()
	begin := time.Now()
	eventually(t, "the deadline", 5*time.Second, func() bool { return time.Since(begin) > 1200*time.Millisecond })
	if _, err := w.Set().Ls.Stat(t.Context(), w.main.dir); err != nil || f.connections() != 1 {
		t.Errorf("after the deadline: %v, %d connections", err, f.connections())
	}
}

func TestUnreachableSaysWhy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr, _ := l.Addr().(*net.TCPAddr)
	must(t, l.Close())
	_, err = Open(t.Context(), Options{Host: "127.0.0.1", Port: addr.Port, User: "u", ConfigFile: "none"})
	wantKind(t, "refused", err, ops.KindUnavailable, addr.String(), "refused")
	_, err = Open(t.Context(), Options{Host: "no-such-host.invalid", User: "u", ConfigFile: "none"})
	wantKind(t, "no name", err, ops.KindUnavailable, "no-such-host.invalid")
	for _, host := range []string{"-oProxyCommand=x", "a b", "a;b", "a$(x)", "", "a\nb", "a`b`"} {
		_, err := Open(t.Context(), Options{Host: host, User: "u", ConfigFile: "none"})
		wantKind(t, "host "+host, err, ops.KindUnavailable)
		if host != "" {
			_, err = Open(t.Context(), Options{Host: "h", User: host, ConfigFile: "none"})
			wantKind(t, "user "+host, err, ops.KindUnavailable, "characters")
		}
	}
}

func TestSSHC02DeadLinkFailsAllCallsInTime(t *testing.T) {
	f := startFake(t, func(f *fakeServer) {
		f.exec = func(ch gossh.Channel, _ string) { _, _ = io.Copy(io.Discard, ch) }
	})
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: f.listener.Addr().String()})
	must(t, err)
	defer func() { must(t, proxy.Close()) }()
	c := f.connect(t, func(o *Options) {
		o.Port = proxy.Port()
		o.AcceptNew = true
		o.Keepalive, o.KeepaliveCount = 200*time.Millisecond, 3
	})
	results := make(chan error, 5)
	for range cap(results) {
		go func() {
			_, err := runner{c}.Run(t.Context(), posix.Process{Argv: []string{"x"}, Stdin: blocked(t)})
			results <- err
		}()
	}
	eventually(t, "the calls", 10*time.Second, func() bool { return f.running.Load() == int64(cap(results)) })
	begin := time.Now()
	proxy.BlackHole(true)
	for range cap(results) {
		wantKind(t, "call", <-results, ops.KindOutcomeUnknown, "lost")
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
	proxy.BlackHole(false)
	if _, err := c.get(t.Context()); err != nil {
		t.Errorf("after the link came back: %v", err)
	}
}

func TestSSHC02CallersShareOneAttemptOnASilentHost(t *testing.T) {
	f := startFake(t, nil)
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: f.listener.Addr().String()})
	must(t, err)
	defer func() { must(t, proxy.Close()) }()
	c := f.connect(t, func(o *Options) {
		o.Port = proxy.Port()
		o.AcceptNew = true
		o.ConnectTimeout = time.Second
	})
	l, err := c.get(t.Context())
	must(t, err)
	proxy.BlackHole(true)
	l.close()
	const callers = 20
	results := make(chan error, callers)
	begin := time.Now()
	for range callers {
		go func() {
			_, err := c.get(t.Context())
			results <- err
		}()
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.get(impatient)
	wantIs(t, "a caller that leaves", err, context.Canceled)
	for range callers {
		wantKind(t, "call", <-results, ops.KindUnavailable, "did not answer in time")
	}
	// One after the other they would need twenty times three seconds.
	if d := time.Since(begin); d > 15*time.Second {
		t.Errorf("took %v", d)
	}
	proxy.BlackHole(false)
	if _, err := c.get(t.Context()); err != nil {
		t.Errorf("after the link came back: %v", err)
	}
	if n := f.connections(); n > 1+redial.Tries+1 {
		t.Errorf("%d connections", n)
	}
}

func TestSSHC02CallCaughtByADeadLinkDoesNotDialAgain(t *testing.T) {
	opening := make(chan struct{}, 1)
	release := make(chan struct{})
	f := startFake(t, func(f *fakeServer) {
		f.deaf = true
		f.admit = func(int) bool { opening <- struct{}{}; <-release; return false }
	})
	c := f.connect(t, func(o *Options) { o.Keepalive, o.KeepaliveCount = 100*time.Millisecond, 3 })
	_, err := runner{c}.Run(t.Context(), posix.Process{Argv: []string{"x"}})
	<-opening
	close(release)
	wantKind(t, "call", err, ops.KindUnavailable, "lost")
	if n := f.connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// blocked is an input that says nothing until the test ends.
func blocked(t *testing.T) io.Reader {
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	return r
}

func TestSSHC02AnsweredKeepaliveKeepsTheLink(t *testing.T) {
	f := startFake(t, nil)
	c := f.connect(t, func(o *Options) { o.Keepalive, o.KeepaliveCount = 20*time.Millisecond, 2 })
	l, err := c.get(t.Context())
	must(t, err)
	before := l.raw.received.Load()
	eventually(t, "ten answers", 10*time.Second, func() bool { return l.raw.received.Load() > before+300 })
	if !l.alive() || f.connections() != 1 {
		t.Error("the link was given up")
	}
}

func TestSSHC04DeafServerCantWedgeTheClient(t *testing.T) {
	f := startFake(t, func(f *fakeServer) { f.deaf = true })
	c := f.connect(t, func(o *Options) { o.Keepalive, o.KeepaliveCount = 100*time.Millisecond, 3 })
	l, err := c.get(t.Context())
	must(t, err)
	select {
	case <-l.done:
	case <-time.After(10 * time.Second):
		t.Fatal("a server that never answers is still trusted")
	}
}

func TestSSHC07ReconnectIsBoundedAndCancellable(t *testing.T) {
	f := startFake(t, func(f *fakeServer) { f.subsystem = realSFTP })
	o := f.options(t)
	o.Dir = t.TempDir()
	w, err := Open(t.Context(), o)
	must(t, err)
	defer func() { must(t, w.Close()) }()
	f.dropAll()
	if _, err := w.Set().Ls.Stat(t.Context(), w.main.dir); err != nil {
		t.Errorf("a read after the loss: %v", err)
	}
	if n := f.connections(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	must(t, f.listener.Close())
	f.dropAll()
	begin := time.Now()
	_, err = w.Set().Ls.Stat(t.Context(), w.main.dir)
	wantKind(t, "cut for ever", err, ops.KindUnavailable, "refused")
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	begin = time.Now()
	_, err = w.Set().Ls.Stat(ctx, w.main.dir)
	wantIs(t, "cancelled", err, context.Canceled)
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("cancel took %v", d)
	}
}

// acceptOnly makes a server accept one key, and notes what it was offered.
func acceptOnly(f *fakeServer, key gossh.PublicKey, tries int) *[]string {
	var offered []string
	var mu sync.Mutex
	f.config = &gossh.ServerConfig{MaxAuthTries: tries, PublicKeyCallback: func(_ gossh.ConnMetadata, k gossh.PublicKey) (*gossh.Permissions, error) {
		mu.Lock()
		defer mu.Unlock()
		if fp := gossh.FingerprintSHA256(k); !slices.Contains(offered, fp) {
			offered = append(offered, fp)
		}
		if key != nil && string(k.Marshal()) == string(key.Marshal()) {
			return &gossh.Permissions{}, nil
		}
		return nil, errors.New("not this one")
	}}
	return &offered
}

// startAgent serves an agent with n keys.
func startAgent(t *testing.T, n int, handle func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "a") //nolint:usetesting // the length of socket paths is bounded
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ring := agent.NewKeyring()
	for range n {
		_, private := newPair(t)
		must(t, ring.Add(agent.AddedKey{PrivateKey: private}))
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	must(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = c.Close() }()
				if handle != nil {
					handle(c)
					return
				}
				_ = agent.ServeAgent(ring, c)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return l.Addr().String()
}

func TestSSHC08ExplicitKeyComesFirst(t *testing.T) {
	key := filepath.Join(t.TempDir(), "ninth")
	public := writeKey(t, key, "")
	var offered *[]string
	f := startFake(t, func(f *fakeServer) { offered = acceptOnly(f, public, 2) })
	c := f.connect(t, func(o *Options) { o.AgentSocket, o.IdentityFiles = startAgent(t, 8, nil), []string{key, key} })
	if _, err := c.get(t.Context()); err != nil || len(*offered) != 1 {
		t.Errorf("%v, offered %q", err, *offered)
	}
}

func TestSSHC08IdentitiesOnlyLeavesTheAgentOut(t *testing.T) {
	key := filepath.Join(t.TempDir(), "mine")
	public := writeKey(t, key, "")
	var offered *[]string
	f := startFake(t, func(f *fakeServer) { offered = acceptOnly(f, nil, 20) })
	c := f.connect(t, func(o *Options) {
		o.AgentSocket, o.IdentityFiles, o.IdentitiesOnly = startAgent(t, 3, nil), []string{key}, true
	})
	_, err := c.get(t.Context())
	wantKind(t, "refused", err, ops.KindAuth, gossh.FingerprintSHA256(public), "the server accepts: publickey", key)
	if len(*offered) != 1 {
		t.Errorf("offered %q", *offered)
	}
}

func TestSSHC08WithoutIdentitiesOnlyEachKeyOnce(t *testing.T) {
	var offered *[]string
	f := startFake(t, func(f *fakeServer) { offered = acceptOnly(f, nil, 20) })
	c := f.connect(t, func(o *Options) { o.AgentSocket = startAgent(t, 3, nil) })
	_, err := c.get(t.Context())
	wantKind(t, "refused", err, ops.KindAuth)
	if len(*offered) != 3 || strings.Count(err.Error(), "SHA256:") != 3 {
		t.Errorf("offered %q, told %v", *offered, err)
	}
}

func TestSSHC08EncryptedKey(t *testing.T) {
	key := filepath.Join(t.TempDir(), "locked")
	public := writeKey(t, key, "secret")
	f := startFake(t, func(f *fakeServer) { acceptOnly(f, public, 0) })
	_, err := f.connect(t, func(o *Options) { o.IdentityFiles = []string{key} }).get(t.Context())
	wantKind(t, "without a way to ask", err, ops.KindAuth, key, "passphrase")
	asked := 0
	c := f.connect(t, func(o *Options) {
		o.IdentityFiles = []string{key}
		o.Passphrase = func(context.Context, string) ([]byte, error) { asked++; return []byte("secret"), nil }
	})
	if l, err := c.get(t.Context()); err != nil || asked != 1 || !l.asked {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

func TestSSHC09OddAgentsArePassedOver(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	public := writeKey(t, key, "")
	for name, socket := range map[string]string{
		"success instead of keys": startAgent(t, 0, func(c net.Conn) {
			buf := make([]byte, 1024)
			for {
				if _, err := c.Read(buf); err != nil {
					return
				}
				_, _ = c.Write([]byte{0, 0, 0, 1, 6})
			}
		}),
		"never answers": startAgent(t, 0, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }),
		"dead":          filepath.Join(t.TempDir(), "none"),
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, func(f *fakeServer) { acceptOnly(f, public, 0) })
			c := f.connect(t, func(o *Options) {
				o.AgentSocket, o.IdentityFiles, o.ConnectTimeout = socket, []string{key}, 3*time.Second
			})
			if _, err := c.get(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAuthByCertificateAndQuestions(t *testing.T) {
	ca := newSigner(t)
	key := filepath.Join(t.TempDir(), "key")
	public := writeKey(t, key, "")
	cert := &gossh.Certificate{Key: public, CertType: gossh.UserCert, ValidPrincipals: []string{"tester"}, ValidBefore: gossh.CertTimeInfinity}
	must(t, cert.SignCert(nonceReader{}, ca))
	must(t, os.WriteFile(key+"-cert.pub", gossh.MarshalAuthorizedKey(cert), 0o600))
	checker := &gossh.CertChecker{IsUserAuthority: func(k gossh.PublicKey) bool { return string(k.Marshal()) == string(ca.PublicKey().Marshal()) }}
	f := startFake(t, func(f *fakeServer) { f.config = &gossh.ServerConfig{PublicKeyCallback: checker.Authenticate} })
	if _, err := f.connect(t, func(o *Options) { o.IdentityFiles = []string{key} }).get(t.Context()); err != nil {
		t.Errorf("certificate: %v", err)
	}
	f = startFake(t, func(f *fakeServer) {
		f.config = &gossh.ServerConfig{KeyboardInteractiveCallback: func(_ gossh.ConnMetadata, ask gossh.KeyboardInteractiveChallenge) (*gossh.Permissions, error) {
			answers, err := ask("", "", []string{"Code: "}, []bool{false})
			if err != nil || len(answers) != 1 || answers[0] != "123" {
				return nil, errors.New("wrong")
			}
			return &gossh.Permissions{}, nil
		}}
	})
	_, err := f.connect(t, nil).get(t.Context())
	wantKind(t, "nobody to ask", err, ops.KindAuth, "keyboard-interactive")
	c := f.connect(t, func(o *Options) {
		o.Answer = func(string, string, []string, []bool) ([]string, error) { return []string{"123"}, nil }
	})
	if _, err := c.get(t.Context()); err != nil {
		t.Error(err)
	}
}

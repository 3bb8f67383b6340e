//go:build linux

package ssh

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pkg/sftp"
	gossh "golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// fakeServer is an SSH server of this process that misbehaves on purpose.
type fakeServer struct {
	config   *gossh.ServerConfig
	listener net.Listener
	key      gossh.Signer
	wg       sync.WaitGroup

	// exec and subsystem serve a session; nil refuses the request. They close
	// the channel, or don't.
	exec      func(ch gossh.Channel, command string)
	subsystem func(ch gossh.Channel)
	// admit decides about a session channel.
	admit func(open int) bool
	wrap  func(net.Conn) net.Conn // what the server talks on; nil leaves it as it is
	deaf  bool                    // global requests are not answered
	shut  bool                    // nor are those for channels
	mute  bool                    // nor those on channels

	mu    sync.Mutex
	conns []net.Conn
	open  int
	total int // connections so far

	running atomic.Int64 // commands under way
}

func newSigner(t *testing.T) gossh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	s, err := gossh.NewSignerFromKey(private)
	must(t, err)
	return s
}

// writeKey writes a private key, encrypted if there is a passphrase.
func writeKey(t *testing.T, file, passphrase string) gossh.PublicKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	block, err := gossh.MarshalPrivateKey(private, "")
	if passphrase != "" {
		block, err = gossh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase))
	}
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	key, err := gossh.NewPublicKey(public)
	must(t, err)
	return key
}

// startFake starts the server; change adjusts it before.
func startFake(t *testing.T, change func(*fakeServer)) *fakeServer {
	t.Helper()
	f := &fakeServer{config: &gossh.ServerConfig{NoClientAuth: true}, key: newSigner(t)}
	if change != nil {
		change(f)
	}
	f.config.AddHostKey(f.key)
	var err error
	f.listener, err = net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f.wg.Go(func() {
		for {
			c, err := f.listener.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.conns = append(f.conns, c)
			f.total++
			f.mu.Unlock()
			f.wg.Go(func() { f.serve(c) })
		}
	})
	t.Cleanup(f.stop)
	return f
}

func (f *fakeServer) stop() {
	_ = f.listener.Close()
	f.dropAll()
	f.wg.Wait()
}

// dropAll closes all connections at once.
func (f *fakeServer) dropAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		_ = c.Close()
	}
	f.conns = nil
}

func (f *fakeServer) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}

func (f *fakeServer) channels() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

func (f *fakeServer) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	if f.wrap != nil {
		c = f.wrap(c)
	}
	conn, channels, requests, err := gossh.NewServerConn(c, f.config)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	f.wg.Go(func() {
		for r := range requests {
			if r.WantReply && !f.deaf {
				_ = r.Reply(false, nil)
			}
		}
	})
	for nc := range channels {
		if f.shut {
			continue
		}
		f.mu.Lock()
		ok := nc.ChannelType() == "session" && (f.admit == nil || f.admit(f.open))
		if ok {
			f.open++
		}
		f.mu.Unlock()
		if !ok {
			_ = nc.Reject(gossh.ConnectionFailed, "open failed")
			continue
		}
		ch, reqs, err := nc.Accept()
		if err != nil {
			return
		}
		f.wg.Go(func() { f.session(ch, reqs) })
	}
}

func (f *fakeServer) session(ch gossh.Channel, requests <-chan *gossh.Request) {
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.open--
	}()
	var wg sync.WaitGroup
	for r := range requests {
		var p struct{ Text string }
		_ = gossh.Unmarshal(r.Payload, &p)
		switch {
		case f.mute:
		case r.Type == "exec" && f.exec != nil:
			_ = r.Reply(true, nil)
			wg.Go(func() {
				f.running.Add(1)
				defer f.running.Add(-1)
				f.exec(ch, p.Text)
			})
		case r.Type == "subsystem" && p.Text == "sftp" && f.subsystem != nil:
			_ = r.Reply(true, nil)
			wg.Go(func() { f.subsystem(ch) })
		default:
			_ = r.Reply(false, nil)
		}
	}
	wg.Wait()
}

// home makes a client's home that knows the server.
func (f *fakeServer) home(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o700))
	line := xknownhosts.Line([]string{f.listener.Addr().String()}, f.key.PublicKey())
	must(t, os.WriteFile(filepath.Join(home, ".ssh", "known_hosts"), []byte(line+"\n"), 0o600))
	return home
}

func (f *fakeServer) options(t *testing.T) Options {
	t.Helper()
	addr, ok := f.listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("no TCP address")
	}
	return Options{
		Host: "127.0.0.1", Port: addr.Port, User: "tester", Home: f.home(t), ConfigFile: "none", ConnectTimeout: 10 * time.Second,
		Dir: "/", Notice: func(s string) { t.Log(s) },
	}
}

// connect returns a connection for tests below the workspace.
func (f *fakeServer) connect(t *testing.T, change func(*Options)) *connection {
	t.Helper()
	o := f.options(t)
	if change != nil {
		change(&o)
	}
	o = o.withDefaults()
	h, err := resolve(t.Context(), o, o.Host, o.User, o.Port)
	must(t, err)
	c := newConnection(o, h)
	t.Cleanup(c.close)
	return c
}

// realSFTP serves the files of this machine.
func realSFTP(ch gossh.Channel) {
	s, err := sftp.NewServer(ch)
	if err == nil {
		_ = s.Serve()
	}
	_ = ch.Close()
}

// exitWith ends a session in the usual way.
func exitWith(ch gossh.Channel, code uint32) {
	_, _ = ch.SendRequest("exit-status", false, gossh.Marshal(struct{ Code uint32 }{code}))
	_ = ch.Close()
}

// handlers serve one file of a given content in pieces of at most size bytes.
type pieces struct {
	content []byte
	size    int
	stall   chan struct{} // reads of a file named "stall" wait for it
}

func (p *pieces) handlers() sftp.Handlers {
	return sftp.Handlers{FileGet: p, FileList: p, FilePut: sftp.InMemHandler().FilePut, FileCmd: sftp.InMemHandler().FileCmd}
}

func (p *pieces) serve(ch gossh.Channel) {
	s := sftp.NewRequestServer(ch, p.handlers())
	_ = s.Serve()
	_ = ch.Close()
}

// Fileread implements sftp.FileReader.
func (p *pieces) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	if filepath.Base(r.Filepath) == "stall" {
		return waiting{p.stall}, nil
	}
	return p, nil
}

// ReadAt implements io.ReaderAt with short answers.
func (p *pieces) ReadAt(b []byte, off int64) (int, error) {
	if off >= int64(len(p.content)) {
		return 0, io.EOF
	}
	return copy(b[:min(len(b), p.size)], p.content[off:]), nil
}

type waiting struct{ until chan struct{} }

// ReadAt implements io.ReaderAt and never answers in time.
func (w waiting) ReadAt([]byte, int64) (int, error) {
	<-w.until
	return 0, io.EOF
}

// Filelist implements sftp.FileLister.
func (p *pieces) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	info := fakeInfo{name: filepath.Base(r.Filepath), size: int64(len(p.content))}
	if r.Filepath == "/" {
		info.mode = os.ModeDir | 0o755
	} else {
		info.mode = 0o644
	}
	return info, nil
}

// Lstat implements sftp.LstatFileLister.
func (p *pieces) Lstat(r *sftp.Request) (sftp.ListerAt, error) { return p.Filelist(r) }

type fakeInfo struct {
	name string
	size int64
	mode os.FileMode
}

func (i fakeInfo) Name() string       { return i.name }
func (i fakeInfo) Size() int64        { return i.size }
func (i fakeInfo) Mode() os.FileMode  { return i.mode }
func (i fakeInfo) ModTime() time.Time { return time.Unix(1e9, 0) }
func (i fakeInfo) IsDir() bool        { return i.mode.IsDir() }
func (i fakeInfo) Sys() any           { return nil }

// ListAt implements sftp.ListerAt.
func (i fakeInfo) ListAt(list []os.FileInfo, off int64) (int, error) {
	if off > 0 {
		return 0, io.EOF
	}
	list[0] = i
	return 1, nil
}

package ssh

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/tools/ops"
)

// version is the answer of an SFTP server to INIT.
const version = "\x00\x00\x00\x05\x02\x00\x00\x00\x03"

// afterInit speaks SFTP up to the first request and then as next does.
func afterInit(next func(ch gossh.Channel)) func(gossh.Channel) {
	return func(ch gossh.Channel) {
		if _, err := io.ReadFull(ch, make([]byte, 9)); err != nil {
			return
		}
		_, _ = io.WriteString(ch, version)
		next(ch)
	}
}

// mute takes what comes and says nothing.
func mute(ch gossh.Channel) { _, _ = io.Copy(io.Discard, ch) }

// flood says text until nobody takes it any more.
func flood(text string) func(io.Writer) {
	block := strings.Repeat(text, 1+32<<10/len(text))
	return func(w io.Writer) {
		for {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	}
}

// crowded returns a port at which the kernel takes no connection: the only place in the
// queue is taken.
func crowded(t *testing.T) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	must(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	must(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	must(t, err)
	addr, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		t.Fatalf("%T", name)
	}
	for range 100 {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", addr.Port), 300*time.Millisecond)
		if err != nil {
			return addr.Port
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	t.Fatal("the queue is never full")
	return 0
}

// raw starts a server that writes to each connection.
func raw(t *testing.T, write func(io.Writer)) int {
	t.Helper()
	f := &fakeServer{}
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
			f.mu.Unlock()
			f.wg.Go(func() {
				f.wg.Go(func() { _, _ = io.Copy(io.Discard, c) })
				write(c)
			})
		}
	})
	t.Cleanup(f.stop)
	addr, ok := f.listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("no TCP address")
	}
	return addr.Port
}

// A server that falls silent or raves in any phase ends the opening within the one
// deadline, with an error that names the phase, and takes little memory (hazards
// SSHC-01, SSHC-04, SFTP-01, SFTP-03).
func TestSSHC04HostileServerInEveryPhase(t *testing.T) {
	silence := func(w io.Writer) {}
	fake := func(change func(*fakeServer)) func(*testing.T) Options {
		return func(t *testing.T) Options { return startFake(t, change).options(t) }
	}
	port := func(start func(*testing.T) int) func(*testing.T) Options {
		return func(t *testing.T) Options {
			return Options{Host: "127.0.0.1", Port: start(t), User: "u", ConfigFile: "none", Dir: "/"}
		}
	}
	writes := func(write func(io.Writer)) func(*testing.T) Options {
		return port(func(t *testing.T) int { return raw(t, write) })
	}
	for _, c := range []struct {
		name   string
		server func(*testing.T) Options
		kind   ops.Kind
		words  string
	}{
		{"silent TCP", port(crowded), ops.KindUnavailable, "the TCP connection"},
		{"silent banner", writes(silence), ops.KindUnavailable, "the SSH banner"},
		{"flood before the banner", writes(flood("welcome\r\n")), ops.KindUnavailable, "the SSH banner"},
		{"banner without an end", writes(flood("SSH-2.0-x")), ops.KindUnavailable, "the SSH banner"},
		{"silent key exchange", writes(func(w io.Writer) { _, _ = io.WriteString(w, "SSH-2.0-x\r\n") }), ops.KindUnavailable, "the key exchange"},
		{"flood in the key exchange", writes(func(w io.Writer) {
			_, _ = io.WriteString(w, "SSH-2.0-x\r\n")
			flood("\xff")(w)
		}), ops.KindUnavailable, "the key exchange"},
		{"silent channels", fake(func(f *fakeServer) { f.shut = true }), ops.KindUnavailable, "the start of a shell"},
		{"silent requests", fake(func(f *fakeServer) { f.mute = true }), ops.KindUnavailable, "the start of a shell"},
		{"silent shell, no SFTP", fake(func(f *fakeServer) { f.exec = func(ch gossh.Channel, _ string) { mute(ch) } }), ops.KindUnavailable, "the start of a shell"},
		{"flood of a shell, no SFTP", fake(func(f *fakeServer) { f.exec = func(ch gossh.Channel, _ string) { flood("x")(ch) } }), ops.KindNoShell, "far too long"},
		{"silent SFTP at its start", fake(func(f *fakeServer) { f.subsystem = mute }), ops.KindNoShell, "the SFTP server did not answer in time"},
		{"silent SFTP after its start", fake(func(f *fakeServer) { f.subsystem = afterInit(mute) }), ops.KindUnavailable, "the SFTP server did not answer"},
		{"flood of text for SFTP", fake(func(f *fakeServer) { f.subsystem = func(ch gossh.Channel) { flood("welcome ")(ch) } }), ops.KindNoShell, "no SFTP packet"},
		{"flood of replies nobody asked for", fake(func(f *fakeServer) {
			f.subsystem = afterInit(func(ch gossh.Channel) { flood("\x00\x00\x00\x09\x65\x09\x09\x09\x09\x00\x00\x00\x02")(ch) })
		}), ops.KindUnavailable, "SFTP"},
		{"SFTP reply of a giant length", fake(func(f *fakeServer) {
			f.subsystem = afterInit(func(ch gossh.Channel) { flood("\xff")(ch) })
		}), ops.KindUnavailable, "SFTP"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := c.server(t)
			o.ConnectTimeout = 2 * time.Second // far more than it takes where somebody answers
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w, err := Open(t.Context(), o)
			runtime.ReadMemStats(&after)
			if err == nil {
				must(t, w.Close())
			}
			t.Log(err)
			wantKind(t, "open", err, c.kind, c.words)
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
				t.Errorf("%d MiB were taken", took>>20)
			}
		})
	}
}

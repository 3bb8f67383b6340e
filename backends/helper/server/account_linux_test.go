package server

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/internal/require"
)

// dialAs connects to a socket as another account.
func dialAs(t *testing.T, path string, account int) *os.File {
	t.Helper()
	type result struct {
		conn *os.File
		err  error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread() // the account is the thread's: it ends with this function
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(account), ^uintptr(0)); errno != 0 {
			done <- result{nil, errno}
			return
		}
		c, err := dialUnix(path)
		done <- result{c, err}
	}()
	r := <-done
	must(t, r.err)
	return r.conn
}

// Another account that gets as far as a session's socket, and knows everything, is
// turned away.
func TestAnotherAccountIsTurnedAway(t *testing.T) {
	if os.Getuid() != 0 {
		require.Missing(t, "root", "acting as another account needs it")
	}
	cache := t.TempDir()
	p := dial(t, cache)
	p.greet(hello())
	folder := filepath.Join(sessionsDir(cache), hello().Session)
	socket := filepath.Join(folder, socketName)
	for _, open := range []string{filepath.Dir(cache), cache, sessionsDir(cache), folder} {
		must(t, os.Chmod(open, 0o755))
	}
	must(t, os.Chmod(socket, 0o777))
	f := dialAs(t, socket, 65534)
	c, err := net.FileConn(f)
	must(t, err)
	must(t, f.Close())
	defer func() { _ = c.Close() }()
	must(t, c.SetDeadline(time.Now().Add(time.Minute)))
	stranger := &peer{Conn: c, t: t, in: wire.NewReader(c), out: wire.NewWriter(c)}
	again := hello()
	again.Resume = true
	stranger.say(wire.TypeHello, 0, again)
	if why := stranger.refused(); why == nil || !strings.Contains(why.Text, "of another account") {
		t.Errorf("refused with %+v", why)
	}
	p.ask(1, wire.MethodOpen, &wire.OpenRequest{Dir: "/", Root: "/"})
	if f := p.failure(1); f != nil {
		t.Errorf("the session was harmed: %+v", f)
	}
	// The account itself is refused too, as long as others may enter the folder.
	q := dial(t, cache)
	q.say(wire.TypeHello, 0, again)
	if why := q.refused(); why == nil || !strings.Contains(why.Text, "not private") {
		t.Errorf("refused with %+v", why)
	}
}

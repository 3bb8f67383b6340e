package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/helper/server"
	"github.com/piremote/piremote/backends/local/supervisor"
)

// TestMain is also the supervisor of the commands that the tests run.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "supervise" {
		os.Exit(supervisor.Run(nil, os.Stderr)) //nolint:forbidigo // the program's own end
	}
	goleak.VerifyTestMain(m)
}

// pair returns the two ends of a stream.
func pair(tb testing.TB) (net.Conn, net.Conn) {
	tb.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		if ends[i], err = net.FileConn(f); err != nil {
			tb.Fatal(err)
		}
		_ = f.Close()
	}
	return ends[0], ends[1]
}

// helper serves in this process; what it returns dials it.
func helper(tb testing.TB, cache string) func(context.Context) (io.ReadWriteCloser, error) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	var wg sync.WaitGroup
	tb.Cleanup(wg.Wait)
	return func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := pair(tb)
		wg.Go(func() { //nolint:contextcheck // a session has its own
			err := server.Serve(server.Options{
				In: theirs, Out: theirs, Env: []string{"PATH=/usr/bin:/bin"}, Home: "/", Self: self,
				Supervisor: self, SupervisorArgs: []string{"supervise"}, Cache: cache,
			})
			if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.EOF) {
				tb.Log("the helper ended: ", err)
			}
		})
		return ours, nil
	}
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, backendtest.Harness{Name: "helper", Open: func(tb testing.TB) backendtest.Workspace {
		base, err := filepath.EvalSymlinks(tb.TempDir())
		if err != nil {
			tb.Fatal(err)
		}
		dir := filepath.Join(base, "ws")
		fixture := backendtest.HostDir(dir, dir)
		if err := fixture.Mkdir(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		w, err := client.Open(tb.Context(), client.Options{Dial: helper(tb, tb.TempDir()), Label: "helper:" + dir, Backend: "helper", Dir: dir})
		if err != nil {
			tb.Fatal(err)
		}
		return backendtest.Workspace{Set: w.Set(), Fixture: fixture, Close: w.Close}
	}})
}

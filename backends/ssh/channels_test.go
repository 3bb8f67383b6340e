//go:build linux

package ssh

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// Fifty commands at once all run, however few sessions the server allows on one
// connection, and an ended command needs one more beside its own.
func TestSSHX05FiftyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 2, 1} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			g := openTarget(t, servers.StartSSHD(t, servers.SSHDOptions{Config: []string{fmt.Sprintf("MaxSessions %d", n)}}), nil)
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					out, exit, err := g.run(t.Context(), fmt.Sprintf("echo %d; exit %d", i, i))
					if err != nil || out != fmt.Sprintln(i) || exit.Code != i {
						t.Errorf("%d: %q, %+v, %v", i, out, exit, err)
					}
				})
			}
			wg.Wait()
		})
	}
}

// Thousands of calls, of which some fail and some are aborted, leave nothing: no
// goroutine, no descriptor, no channel on either side.
func TestSSHX05NothingLeaksOverThousandsOfCalls(t *testing.T) {
	f := startFake(t, func(f *fakeServer) {
		f.exec = func(ch gossh.Channel, command string) {
			if command == "exec 'stay'" {
				buf := make([]byte, 1)
				_, _ = ch.Read(buf) // until the client gives it up
			}
			exitWith(ch, uint32(len(command)%2))
		}
	})
	c := f.connect(t, nil)
	l, err := c.get(t.Context())
	must(t, err)
	call := func(i int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		argv := []string{[]string{"x", "xy", "stay"}[i%3]}
		p := posix.Process{Argv: argv}
		if argv[0] == "stay" {
			p.Stdin = endless{ctx}
			time.AfterFunc(time.Duration(i%7)*100*time.Microsecond, cancel)
		}
		if _, err := (runner{c}).Run(ctx, p); (err != nil) != (argv[0] == "stay") {
			t.Errorf("call %d: %v", i, err)
		}
	}
	settled := func() (int, int) {
		eventually(t, "no open channel", time.Minute, func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.open == 0 && f.channels() == 0
		})
		return runtime.NumGoroutine(), openFiles(t)
	}
	for i := range 30 {
		call(i)
	}
	goroutines, files := settled()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 1250 {
				call(4*i + worker)
			}
		})
	}
	wg.Wait()
	eventually(t, "no goroutine or descriptor more than before", time.Minute, func() bool {
		g, d := settled()
		return g <= goroutines && d <= files
	})
	if f.connections() != 1 {
		t.Errorf("%d connections", f.connections())
	}
}

// endless is an input that never comes, and ends with its context.
type endless struct{ ctx context.Context } //nolint:containedctx // it is the input's life

// Read implements io.Reader.
func (e endless) Read([]byte) (int, error) {
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

// A stream that nobody takes from holds up neither another nor the signs of life.
func TestSSHX11FullStreamHoldsUpNobody(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	g := openTarget(t, s, func(o *Options) { o.Keepalive, o.KeepaliveCount = 100*time.Millisecond, 50 })
	l, err := g.connection.get(t.Context())
	must(t, err)
	full, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	done := make(chan error, 1)
	go func() {
		_, err := g.Set().Bash.Exec(t.Context(), ops.Command{Script: "head -c 20000000 /dev/zero", Dir: g.dir}, func(ops.Chunk) {
			once.Do(func() { close(full) })
			<-release
		})
		done <- err
	}()
	<-full
	before := l.raw.received.Load()
	if out, _, err := g.run(t.Context(), "echo beside"); err != nil || out != "beside\n" {
		t.Errorf("%q, %v", out, err)
	}
	beside := l.raw.received.Load()
	eventually(t, "answers to signs of life", time.Minute, func() bool { return l.raw.received.Load() > beside+100 })
	if before == beside || !l.alive() {
		t.Error("the link did not go on")
	}
	close(release)
	must(t, <-done)
}

// An idle connection costs one packet an interval, each way, and nothing else.
func TestSSHC02IdleConnectionCostsItsSignsOfLife(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address()})
	must(t, err)
	defer func() { must(t, proxy.Close()) }()
	for _, by := range []FilesBy{FilesBoth, FilesShell} {
		const interval = 200 * time.Millisecond
		g := openTarget(t, s, func(o *Options) {
			o.Port, o.AcceptNew, o.Files, o.Keepalive = proxy.Port(), true, by, interval
			o.KeepaliveCount = 1000
		})
		must(t, g.Set().Read.Access(t.Context(), g.put(t, "f", "x", 0o644)))
		quiet(t, proxy)
		begin := time.Now()
		proxy.ResetCounts()
		// Each switch is one packet up or one down.
		eventually(t, "ten signs of life", time.Minute, func() bool { return proxy.Counts().Switches >= 20 })
		counts, most := proxy.Counts(), int(time.Since(begin)/interval)+1
		if n := (counts.Switches + 1) / 2; n > most {
			t.Errorf("%s: %d round trips in the time of %d intervals", by, n, most)
		}
		const largest = 128 // bytes of the request, encrypted, and of the answer
		if n := int64(counts.Switches+1) / 2; counts.Up > n*largest || counts.Down > n*largest {
			t.Errorf("%s: %+v", by, counts)
		}
		g.connection.close()
	}
}

//go:build linux

package ssh

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

func TestSSHX04HowAProcessEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(ch gossh.Channel)
		want   posix.Status
		kind   ops.Kind
		output string
	}{
		"status 0":   {func(ch gossh.Channel) { exitWith(ch, 0) }, posix.Status{}, "", "out"},
		"status 255": {func(ch gossh.Channel) { exitWith(ch, 255) }, posix.Status{Code: 255}, "", "out"},
		"no status":  {func(ch gossh.Channel) { _ = ch.Close() }, posix.Status{}, ops.KindNoStatus, "out"},
		"signal": {func(ch gossh.Channel) {
			_, _ = ch.SendRequest("exit-signal", false, gossh.Marshal(struct {
				Signal   string
				Core     bool
				Text, La string
			}{"KILL", false, "", ""}))
			_ = ch.Close()
		}, posix.Status{Code: 137, Signal: "KILL"}, "", "out"},
		"status before the output": {func(ch gossh.Channel) {
			_, _ = ch.SendRequest("exit-status", false, gossh.Marshal(struct{ Code uint32 }{3}))
			_, _ = io.WriteString(ch, " late")
			_ = ch.Close()
		}, posix.Status{Code: 3}, "", "out late"},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, func(f *fakeServer) {
				f.exec = func(ch gossh.Channel, _ string) {
					_, _ = io.WriteString(ch, "out")
					_, _ = io.WriteString(ch.Stderr(), "err")
					c.end(ch)
				}
			})
			var out, errs bytes.Buffer
			got, err := runner{f.connect(t, nil)}.Run(t.Context(), posix.Process{
				Argv: []string{"x"}, Stdout: func(p []byte) { out.Write(p) }, Stderr: func(p []byte) { errs.Write(p) },
			})
			if ops.KindOf(err) != c.kind || c.kind == "" && err != nil || got != c.want || out.String() != c.output || errs.String() != "err" {
				t.Errorf("got %+v, %v, %q %q", got, err, out.String(), errs.String())
			}
		})
	}
}

func TestSSHX06CommandLineIsConstantAndQuoted(t *testing.T) {
	got := make(chan string, 1)
	f := startFake(t, func(f *fakeServer) {
		f.exec = func(ch gossh.Channel, command string) {
			got <- command
			data, _ := io.ReadAll(ch)
			_, _ = ch.Write(data)
			exitWith(ch, 0)
		}
	})
	var out strings.Builder
	_, err := runner{f.connect(t, nil)}.Run(t.Context(), posix.Process{
		Argv: []string{"/bin/sh", "-c", "echo $x"}, Stdin: strings.NewReader("the input"), Stdout: func(p []byte) { out.Write(p) },
	})
	must(t, err)
	if c := <-got; c != `exec '/bin/sh' '-c' 'echo $x'` || out.String() != "the input" {
		t.Errorf("command %q, output %q", c, out.String())
	}
}

func TestExecRefusedIsNoShell(t *testing.T) {
	_, err := runner{startFake(t, nil).connect(t, nil)}.Run(t.Context(), posix.Process{Argv: []string{"x"}})
	wantKind(t, "exec refused", err, ops.KindNoShell)
}

func TestRunEndsWithItsContextAndCallsBackNoMore(t *testing.T) {
	f := startFake(t, func(f *fakeServer) {
		f.exec = func(ch gossh.Channel, _ string) {
			for {
				if _, err := io.WriteString(ch, "more "); err != nil {
					return
				}
			}
		}
	})
	c := f.connect(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var over atomic.Bool
	var n atomic.Int64
	begin := time.Now()
	_, err := runner{c}.Run(ctx, posix.Process{Argv: []string{"x"}, Stdout: func([]byte) {
		if over.Load() {
			t.Error("output after Run returned")
		}
		if n.Add(1) == 10 {
			cancel()
		}
	}})
	over.Store(true)
	wantIs(t, "run", err, context.Canceled)
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
	eventually(t, "the channel's end", 10*time.Second, func() bool { return f.channels() == 0 })
}

func TestServerThatForgetsToCloseDoesNotHoldTheCall(t *testing.T) {
	f := startFake(t, func(f *fakeServer) {
		f.exec = func(ch gossh.Channel, _ string) {
			_, _ = ch.SendRequest("exit-status", false, gossh.Marshal(struct{ Code uint32 }{7}))
		}
	})
	got, err := runner{f.connect(t, nil)}.Run(t.Context(), posix.Process{Argv: []string{"x"}})
	if err != nil || got.Code != 7 {
		t.Errorf("%+v, %v", got, err)
	}
}

// limited is a server with n slots for sessions on each connection.
func limited(t *testing.T, slots int, late time.Duration) *fakeServer {
	return startFake(t, func(f *fakeServer) {
		var mu sync.Mutex
		busy := 0
		f.admit = func(int) bool {
			mu.Lock()
			defer mu.Unlock()
			if busy >= slots {
				return false
			}
			busy++
			return true
		}
		f.exec = func(ch gossh.Channel, _ string) {
			_, _ = io.Copy(io.Discard, ch)
			exitWith(ch, 0)
			time.AfterFunc(late, func() { // servers free a slot late
				mu.Lock()
				defer mu.Unlock()
				busy--
			})
		}
	})
}

func TestSSHX05CallsQueueWhenTheServerRefuses(t *testing.T) {
	// The slots are of the whole server here: further connections don't help.
	f := limited(t, 3, 5*time.Millisecond)
	c := f.connect(t, nil)
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if _, err := (runner{c}).Run(t.Context(), posix.Process{Argv: []string{"x"}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	l, err := c.get(t.Context())
	if err != nil || !l.alive() {
		t.Errorf("a refused channel ended the connection: %v", err)
	}
	eventually(t, "no leak", 10*time.Second, func() bool { return f.channels() == 0 })
}

func TestSSHX05QueuedCallHonoursAbort(t *testing.T) {
	f := limited(t, 1, 0)
	c := f.connect(t, nil)
	go func() { _, _ = runner{c}.Run(t.Context(), posix.Process{Argv: []string{"x"}, Stdin: blocked(t)}) }()
	eventually(t, "the first call", 10*time.Second, func() bool { return f.channels() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := runner{c}.Run(ctx, posix.Process{Argv: []string{"y"}})
	wantIs(t, "queued", err, context.DeadlineExceeded)
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestSSHX05NoChannelLeaksOverManyCalls(t *testing.T) {
	n := 0
	f := startFake(t, func(f *fakeServer) {
		f.exec = func(ch gossh.Channel, _ string) { n++; exitWith(ch, uint32(n%2)) }
	})
	c := f.connect(t, nil)
	for i := range 1500 {
		if _, err := (runner{c}).Run(t.Context(), posix.Process{Argv: []string{"x"}}); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	l, err := c.get(t.Context())
	must(t, err)
	eventually(t, "no open channel", 10*time.Second, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.open == 0
	})
	if f.connections() != 1 {
		t.Errorf("%d connections", f.connections())
	}
}

func TestSSHX11StreamsAreDrainedTogether(t *testing.T) {
	const size = 6 << 20
	f := startFake(t, func(f *fakeServer) {
		f.exec = func(ch gossh.Channel, _ string) {
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = ch.Write(make([]byte, size)) })
			_, _ = ch.Stderr().Write(make([]byte, size))
			wg.Wait()
			exitWith(ch, 0)
		}
	})
	c := f.connect(t, nil)
	// A slow listener of one call delays nobody else.
	slow, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := (runner{c}).Run(t.Context(), posix.Process{Argv: []string{"slow"}, Stdout: func([]byte) {
			once.Do(func() { close(slow) })
			<-release
		}}); err != nil {
			t.Error(err)
		}
	})
	<-slow
	var out, errs int
	_, err := runner{c}.Run(t.Context(), posix.Process{Argv: []string{"x"}, Stdout: func(p []byte) { out += len(p) }, Stderr: func(p []byte) { errs += len(p) }})
	close(release)
	wg.Wait()
	if err != nil || out != size || errs != size {
		t.Errorf("%v, %d and %d bytes", err, out, errs)
	}
}

func TestSSHC07CommandUnderWayIsOutcomeUnknown(t *testing.T) {
	f := startFake(t, func(f *fakeServer) {
		f.exec = func(ch gossh.Channel, _ string) { _, _ = io.Copy(io.Discard, ch) }
	})
	c := f.connect(t, nil)
	done := make(chan error, 1)
	go func() {
		_, err := runner{c}.Run(t.Context(), posix.Process{Argv: []string{"x"}, Stdin: blocked(t)})
		done <- err
	}()
	eventually(t, "the call", 10*time.Second, func() bool { return f.running.Load() == 1 })
	f.dropAll()
	wantKind(t, "under way", <-done, ops.KindOutcomeUnknown, fmt.Sprint(c.hop.port))
}

package client_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sessions "github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/helper/server"
	"github.com/piremote/piremote/backends/helper/server/servertest"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/opstest"
)

const lease = 10 * time.Minute

// memory is a workspace in memory, whose commands live in this process.
type memory struct{ *opstest.Memory }

func (m memory) End(time.Duration) error { return m.Close() }

// leased is a session with a lease on a target in memory, in a bubble with its own
// clock.
type leased struct {
	*client.Workspace

	t      *testing.T
	cache  string
	memory *opstest.Memory
	host   *servertest.Host
	output strings.Builder // of the command, once it has ended
	ended  chan outcome

	mu   sync.Mutex
	link io.Closer // to the helper
	next func(ctx context.Context) error
}

type outcome struct {
	exit ops.Exit
	err  error
}

// never lets a client not come back.
func never(context.Context) error {
	return &ops.TransportError{Kind: ops.KindAuth, Msg: "the client is gone"}
}

// in lets a client come back at a time behind its first attempt.
func in(d time.Duration) func(context.Context) error {
	var begin time.Time
	return func(ctx context.Context) error {
		if begin.IsZero() {
			begin = time.Now()
		}
		select {
		case <-time.After(time.Until(begin.Add(d))):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// openLeased opens a session. After the first connection, again says whether and
// when there is a further one.
func openLeased(t *testing.T, again func(context.Context) error) *leased {
	t.Helper()
	l := &leased{t: t, cache: t.TempDir(), memory: opstest.NewMemory(opstest.Options{}), ended: make(chan outcome, 1)}
	l.host = servertest.NewHost(server.Options{
		Home: "/", Cache: l.cache,
		Open: func(context.Context, string, string, []ops.Root) (server.Workspace, error) {
			return memory{l.memory}, nil
		},
	})
	var err error
	l.Workspace, err = client.Open(t.Context(), client.Options{Label: "helper:", Dir: "/ws", Lease: lease, Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		l.mu.Lock()
		next := l.next
		l.next = again
		l.mu.Unlock()
		if next != nil {
			if err := next(ctx); err != nil {
				return nil, err
			}
		}
		link, err := l.host.Start(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.link = link
		return link, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// begin starts a command that can be told from others by arg, and returns when it
// runs.
func (l *leased) begin(script, arg string) {
	l.t.Helper()
	go func() {
		exit, err := l.Set().Bash.Exec(context.Background(), ops.Command{Script: script, Dir: "/ws"}, func(c ops.Chunk) { l.output.Write(c.Data) })
		l.ended <- outcome{exit, err}
	}()
	synctest.Wait()
	l.expect("begun", arg, 1, sessions.SessionAttended)
}

// cut breaks the link, and returns when everybody has noticed.
func (l *leased) cut() {
	l.mu.Lock()
	_ = l.link.Close()
	l.mu.Unlock()
	synctest.Wait()
}

// expect looks for the processes of a command and for the state of the session;
// none if that is empty.
func (l *leased) expect(when, arg string, processes int, state sessions.SessionState) {
	l.t.Helper()
	if n, err := l.memory.ProcessesWith(arg); err != nil || n != processes {
		l.t.Errorf("%s: %d processes, want %d; %v", when, n, processes, err)
	}
	list, err := server.List(l.cache)
	if err != nil {
		l.t.Fatal(err)
	}
	var have sessions.SessionState
	if len(list) > 0 {
		have = list[0].State
	}
	if have != state || len(list) > 1 {
		l.t.Errorf("%s: the sessions are %+v, want one that is %q", when, list, state)
	}
}

// close ends the client, and waits for the helpers: none is left.
func (l *leased) close() {
	_ = l.Close() // the session may be gone
	l.host.Wait()
}

// after waits on the bubble's clock.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// A command whose client is gone goes on to the end of its lease, not longer
// (hazard PROC-04).
func TestPROC04CommandLivesAsLongAsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLeased(t, never)
		defer l.close()
		l.begin("sleep 36001", "36001")
		l.cut()
		if o := <-l.ended; ops.KindOf(o.err) != ops.KindOutcomeUnknown {
			t.Errorf("the client was told %+v", o)
		}
		l.expect("at the cut", "36001", 1, sessions.SessionAlone)
		after(lease - time.Second)
		l.expect("a second before the end", "36001", 1, sessions.SessionAlone)
		after(time.Second)
		l.expect("at the end", "36001", 0, sessions.SessionEnded)
		l.host.Wait()
	})
}

// A client that comes back a second before the end of the lease gets the output that
// it missed, in order, and the true exit status; and the command goes on as long as
// it likes (hazard SSHC-07).
func TestSSHC07ClientComesBackBeforeTheLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLeased(t, in(lease-time.Second))
		defer l.close()
		l.begin("i=0; while [ $i -lt 1500 ]; do echo line $i; i=$((i+1)); sleep 1; done; exit 7", "1")
		begin := time.Now()
		after(10 * time.Second)
		l.cut()
		after(lease - 2*time.Second)
		l.expect("two seconds before the end", "1", 1, sessions.SessionAlone)
		after(10 * time.Second)
		l.expect("behind the end", "1", 1, sessions.SessionAttended)
		o := <-l.ended
		var want strings.Builder
		for i := range 1500 {
			fmt.Fprintln(&want, "line", i)
		}
		if o.err != nil || o.exit.Code != 7 || l.output.String() != want.String() {
			t.Errorf("%+v, %d bytes of %d", o, l.output.Len(), want.Len())
		}
		if took := time.Since(begin); took < 1500*time.Second || took > 1510*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A goodbye ends what runs at once, whatever the lease.
func TestGoodbyeEndsALeasedCommandAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := openLeased(t, never)
		l.begin("sleep 36002", "36002")
		begin := time.Now()
		l.close()
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %v", took)
		}
		l.expect("behind the goodbye", "36002", 0, "")
		<-l.ended
	})
}

// Who comes back in the moment in which the lease ends gets the session with its
// command, or an error that says that both are gone; never one half of it.
func TestClientComesBackAsTheLeaseEnds(t *testing.T) {
	kept, lost := 0, 0
	for _, off := range []time.Duration{-time.Millisecond, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, time.Millisecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l := openLeased(t, in(lease+off))
			defer l.close()
			l.begin("sleep 1000; echo slept; exit 3", "1000")
			l.cut()
			o := <-l.ended
			switch {
			case o.err == nil && o.exit.Code == 3 && l.output.String() == "slept\n" && off <= 0:
				kept++
			case ops.KindOf(o.err) == ops.KindOutcomeUnknown && strings.Contains(o.err.Error(), "the session at the target has ended") && off >= 0:
				lost++
				synctest.Wait()
				if n, err := l.memory.ProcessesWith("1000"); n > 0 || err != nil {
					t.Errorf("off by %v: the session is gone, and %d processes are there; %v", off, n, err)
				}
			default:
				t.Errorf("off by %v: %v (kind %q), %+v, %q", off, o.err, ops.KindOf(o.err), o.exit, l.output.String())
			}
		})
	}
	t.Logf("%d times it was there, %d times not", kept, lost)
	if kept < 2 || lost < 2 {
		t.Error("one of the ends was not seen")
	}
}

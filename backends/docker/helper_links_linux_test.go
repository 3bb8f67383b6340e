package docker

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	protocol "github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// often is how many times something is done: a few, or in the long form many.
func often(short, long int) int {
	if os.Getenv("PIREMOTE_SOAK") == "1" { //nolint:forbidigo // tests read their own switches
		return long
	}
	return short
}

// helped is a workspace behind a helper in a container, whose folders are also
// seen from here.
type helped struct {
	ops.Set

	dockerd   *servers.Dockerd
	container string
	dir       string // /ws there
	cache     string // of the helper
}

// openHelped opens a workspace behind the helper.
func openHelped(t *testing.T, change func(*Options)) *helped {
	t.Helper()
	home := t.TempDir()
	h := &helped{dockerd: servers.StartDockerd(t), dir: t.TempDir(), cache: filepath.Join(home, ".cache", "piremote")}
	h.container = h.dockerd.Run(t, servers.ContainerOptions{Binds: []string{h.dir + ":/ws", home + ":/root"}})
	o := Options{Host: h.dockerd.Host, Container: h.container, Dir: "/ws", Helper: helper.Require, Helpers: helpertest.Bundle(t)}
	if change != nil {
		change(&o)
	}
	h.Set = opened(t, o)
	return h
}

// get returns the content of a file of the workspace.
func (h *helped) get(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// made counts the changes of which the helper's journals say that they were made,
// each by its name. One that was made twice fails the test.
func (h *helped) made(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.cache, "sessions", "*", "journal"))
	if err != nil || len(files) == 0 {
		t.Fatal("there is no journal: ", err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for len(data) >= 4 {
			size := binary.LittleEndian.Uint32(data)
			var r protocol.Record
			if err := protocol.Decode(data[4:4+size], &r); err != nil {
				t.Fatal(err)
			}
			data = data[4+size:]
			if !r.Ended || r.Failure != nil {
				continue
			}
			if seen[r.Change] {
				t.Errorf("the change %s was made twice", r.Change)
			}
			seen[r.Change] = true
		}
	}
	return len(seen)
}

// linked is a workspace whose daemon is reached over TCP, by a link that can be
// broken.
type linked struct {
	*helped

	proxy *faultproxy.Proxy
}

// openLinked opens a workspace over a link whose silence is noticed soon.
func openLinked(t *testing.T, lease time.Duration) *linked {
	t.Helper()
	l := &linked{}
	l.helped = openHelped(t, func(o *Options) {
		bridge := fullCloseProxy(t, strings.TrimPrefix(o.Host, "unix://"))
		var err error
		l.proxy, err = faultproxy.Listen(t.Context(), faultproxy.Options{Target: strings.TrimPrefix(bridge, "tcp://")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := l.proxy.Close(); err != nil {
				t.Error(err)
			}
		})
		o.Host, o.Lease = "tcp://"+l.proxy.Addr(), lease
		o.Keepalive, o.KeepaliveCount = 250*time.Millisecond, 3
	})
	return l
}

// arm lets the link break, by a reset or silently, after so many bytes.
func (l *linked) arm(d faultproxy.Direction, after int64, silent bool) {
	if silent {
		l.proxy.StallAfter(d, after)
	} else {
		l.proxy.CutAfter(d, after)
	}
}

func (l *linked) disarm() {
	for _, d := range []faultproxy.Direction{faultproxy.Up, faultproxy.Down} {
		l.proxy.CutAfter(d, -1)
		l.proxy.StallAfter(d, -1)
	}
}

// The link to the daemon breaks, by a reset or silently, at seeded points of a write
// and an edit: the call returns the true result, the file has it, and each change
// was made once (hazards DKX-06, MUTQ-06).
func TestDKX06ChangesOverALinkThatBreaks(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]time.Duration{"no lease": 0, "lease": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLinked(t, lease)
			editor, ok := l.Edit.(ops.Editor)
			if !ok {
				t.Fatal("no editor")
			}
			const seed = 20
			random := rand.New(rand.NewPCG(seed, uint64(lease)))
			count, made := 0, 0
			text := func() string { return fmt.Sprintf("count: %d\n", count) }
			step := func(what string) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				count += 10
				if _, err := l.Write.WriteFile(ctx, "/ws/f", []byte(text())); err != nil || l.get(t, "f") != text() {
					t.Fatalf("%s: write: %v; the file has %q, want %q", what, err, l.get(t, "f"), text())
				}
				old := text()
				count++
				if _, err := editor.EditFile(ctx, "/ws/f", ops.EditRequest{Name: "f", Edits: []ops.Replacement{{Old: old, New: text()}}}); err != nil || l.get(t, "f") != text() {
					t.Fatalf("%s: edit: %v; the file has %q, want %q", what, err, l.get(t, "f"), text())
				}
				made += 2
			}
			l.proxy.ResetCounts()
			step("uncut")
			uncut := l.proxy.Counts()
			points, broken := often(8, 60), 0
			for i := range points {
				d := faultproxy.Direction(random.IntN(2))
				at := random.Int64N([]int64{uncut.Up, uncut.Down}[d])
				links := l.proxy.Counts().Connections
				l.arm(d, at, i%2 == 1)
				step(fmt.Sprintf("point %d: direction %d, after %d bytes", i, d, at))
				l.disarm()
				if l.proxy.Counts().Connections > links {
					broken++
				}
			}
			t.Logf("%d of %d points broke the link within a call", broken, points)
			if broken < points/2 {
				t.Error("too few of them")
			}
			if n := l.made(t); n != made {
				t.Errorf("%d changes were made, want %d", n, made)
			}
		})
	}
}

// A command in a container goes on while the link is broken, by a reset or silently;
// its output arrives whole and in order, with its exit status (hazard DKX-06).
func TestDKX06CommandOutlivesItsLink(t *testing.T) {
	t.Parallel()
	l := openLinked(t, time.Minute)
	const lines = 300
	const script = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo $i; [ $((i % 20)) -ne 0 ] || sleep 0.1; done; exit 7"
	var want strings.Builder
	for i := range lines {
		fmt.Fprintln(&want, i+1)
	}
	random := rand.New(rand.NewPCG(8, 0))
	for i := range often(4, 20) {
		at := 1 + random.IntN(lines*2/3)
		links := l.proxy.Counts().Connections
		var out bytes.Buffer
		cut := false
		exit, err := l.Bash.Exec(t.Context(), ops.Command{Script: script, Dir: "/ws"}, func(c ops.Chunk) {
			if c.Dropped > 0 {
				t.Errorf("%d bytes were dropped", c.Dropped)
			}
			out.Write(c.Data)
			if !cut && bytes.Count(out.Bytes(), []byte("\n")) >= at {
				cut = true
				l.arm(faultproxy.Down, 0, i%2 == 1)
			}
		})
		l.disarm()
		if err != nil || exit.Code != 7 || out.String() != want.String() {
			t.Fatalf("cut at line %d: %+v, %v, output of %d bytes, want %d", at, exit, err, out.Len(), want.Len())
		}
		if !cut || l.proxy.Counts().Connections == links {
			t.Errorf("the link was not broken at line %d", at)
		}
	}
}

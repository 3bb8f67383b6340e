package ssh

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// often is how many times something is done: a few, or in the long form many.
func often(short, long int) int {
	if os.Getenv("PIREMOTE_SOAK") == "1" { //nolint:forbidigo // tests read their own switches
		return long
	}
	return short
}

// linked is a workspace behind a helper, over a link that can be broken.
type linked struct {
	*target

	proxy *faultproxy.Proxy
	cache string // the helper's folder
}

// openLinked opens a workspace behind the helper. The link's signs of life come
// often enough for a test.
func openLinked(t *testing.T, change func(*Options)) *linked {
	t.Helper()
	home := t.TempDir()
	s := servers.StartSSHD(t, servers.SSHDOptions{Config: []string{"SetEnv HOME=" + home}})
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address()})
	must(t, err)
	t.Cleanup(func() { must(t, proxy.Close()) })
	g := openTarget(t, s, func(o *Options) {
		o.Port, o.AcceptNew = proxy.Port(), true
		o.Helper, o.Helpers = helper.Require, helpertest.Bundle(t)
		if change != nil {
			change(o)
		}
	})
	return &linked{target: g, proxy: proxy, cache: filepath.Join(home, ".cache", "piremote")}
}

// lively makes a link that stalls be given up soon.
func lively(o *Options) {
	o.Keepalive, o.KeepaliveCount, o.Patience = 250*time.Millisecond, 3, time.Minute
}

// made counts the changes of which the helper's journals say that they were made,
// each by its name. One that was made twice fails the test.
func (l *linked) made(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(l.cache, "sessions", "*", "journal"))
	must(t, err)
	seen := map[string]bool{}
	for _, f := range files {
		data := must2(t, f)
		for len(data) >= 4 {
			size := binary.LittleEndian.Uint32(data)
			var r wire.Record
			must(t, wire.Decode(data[4:4+size], &r))
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

// However few sessions the server allows, everything goes through the one that the
// helper has, and the server never has to refuse one (hazard SSHX-05).
func TestSSHX05HelperNeedsOneSession(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 10} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := servers.StartSSHD(t, servers.SSHDOptions{Config: []string{fmt.Sprintf("MaxSessions %d", n)}})
			g := openTarget(t, s, func(o *Options) { o.Helper, o.Helpers = helper.Require, helpertest.Bundle(t) })
			p := g.put(t, "f", "content", 0o644)
			large := strings.Repeat("0123456789abcdef", 1<<20)
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					if got, err := g.Set().Read.ReadFile(t.Context(), p, 0); err != nil || string(got) != "content" {
						t.Errorf("%q, %v", got, err)
					}
				})
			}
			for range 50 {
				wg.Go(func() {
					if out, exit, err := g.run(t.Context(), "sleep 0.1; echo x"); err != nil || out != "x\n" || exit.Code != 0 {
						t.Errorf("%q, %+v, %v", out, exit, err)
					}
				})
			}
			wg.Wait()
			const refusal = "no more sessions"
			refusals := strings.Count(s.Log(), refusal)
			if refusals > 0 {
				t.Errorf("the server refused %d sessions", refusals)
			}
			// Large content may use more sessions, and does with what there is.
			if _, err := g.Set().Write.WriteFile(t.Context(), filepath.Join(g.dir, "large"), []byte(large)); err != nil {
				t.Error(err)
			}
			if got, err := g.Set().Read.ReadFile(t.Context(), filepath.Join(g.dir, "large"), 0); err != nil || string(got) != large {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if n == 1 && refusals == strings.Count(s.Log(), refusal) {
				t.Errorf("the server's log tells no refusal where there was one:\n%s", s.Log())
			}
			exit, err := g.Set().Bash.Exec(t.Context(), ops.Command{Script: "sleep 600", Dir: g.dir, Timeout: 300 * time.Millisecond, Grace: 100 * time.Millisecond}, func(ops.Chunk) {})
			if err != nil || !exit.TimedOut || len(exit.Survivors) > 0 {
				t.Errorf("%+v, %v", exit, err)
			}
			if n == 1 && g.notices.String() != "" {
				t.Errorf("notices: %s", g.notices)
			}
		})
	}
}

//go:build linux

package ssh

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/tools/ops"
)

// delay of each direction in TestRoundTrips.
const delay = 25 * time.Millisecond

// TestRoundTrips counts how often an operation waits for the link. The numbers are
// those that the documentation quotes; they may only fall.
func TestRoundTrips(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address(), Delay: delay})
	must(t, err)
	defer func() { must(t, proxy.Close()) }()
	most := map[FilesBy]map[string]int{
		FilesBoth:  {"stat": 1, "access": 2, "read": 3, "read 1 MiB": 6, "write new": 3, "write over": 3, "list": 3, "canonical": 1, "exec": 3},
		FilesSFTP:  {"stat": 1, "access": 2, "read": 3, "read 1 MiB": 6, "write new": 7, "write over": 8, "list": 5, "canonical": 1},
		FilesShell: {"stat": 3, "read": 3, "write over": 3, "list": 3},
	}
	for _, by := range []FilesBy{FilesBoth, FilesSFTP, FilesShell} {
		g := openTarget(t, s, func(o *Options) { o.Port, o.AcceptNew, o.Files = proxy.Port(), true, by })
		ctx, set := t.Context(), g.Set()
		small := g.put(t, "small", "some text\n", 0o644)
		big := g.put(t, "big", string(make([]byte, 1<<20)), 0o644)
		n := 0
		canonical, ok := set.Edit.(ops.Canonicalizer)
		if !ok {
			t.Fatal("no canonicalizer")
		}
		for name, run := range map[string]func() error{
			"stat":       func() error { _, err := set.Ls.Stat(ctx, small); return err },
			"access":     func() error { return set.Read.Access(ctx, small) },
			"read":       func() error { _, err := set.Read.ReadFile(ctx, small, 0); return err },
			"read 1 MiB": func() error { _, err := set.Read.ReadFile(ctx, big, 0); return err },
			"write new": func() error {
				n++
				_, err := set.Write.WriteFile(ctx, filepath.Join(g.dir, "new"+string(rune('a'+n))), []byte("x"))
				return err
			},
			"write over": func() error { _, err := set.Write.WriteFile(ctx, small, []byte("some text\n")); return err },
			"list":       func() error { return set.Ls.ReadDir(ctx, g.dir, func(fs.DirEntry) bool { return true }) },
			"canonical":  func() error { _, err := canonical.Canonical(ctx, small); return err },
			"exec":       func() error { _, _, err := g.run(ctx, "true"); return err },
		} {
			limit, ok := most[by][name]
			if !ok {
				continue
			}
			trips := measure(t, proxy, run)
			t.Logf("%-5s %-10s %d round trips", by, name, trips)
			if trips > limit {
				t.Errorf("%s by %s takes %d round trips, %d are allowed", name, by, trips, limit)
			}
		}
	}
}

// measure returns the round trips of run: how often bytes went up after bytes had
// come down. Time plays no part in it, so that a busy machine does not disturb.
func measure(t *testing.T, proxy *faultproxy.Proxy, run func() error) int {
	t.Helper()
	least := 1000
	for range 2 {
		quiet(t, proxy)
		proxy.ResetCounts()
		must(t, run())
		least = min(least, (proxy.Counts().Switches+1)/2)
	}
	return least
}

// quiet waits until nothing is under way.
func quiet(t *testing.T, proxy *faultproxy.Proxy) {
	t.Helper()
	last, since := proxy.Counts(), time.Now()
	eventually(t, "a quiet link", time.Minute, func() bool {
		if now := proxy.Counts(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 6*delay
	})
}

func TestReadRetriedOnceWhenTheLinkIsCut(t *testing.T) {
	t.Parallel()
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address()})
	must(t, err)
	defer func() { must(t, proxy.Close()) }()
	for _, by := range []FilesBy{FilesSFTP, FilesShell} {
		g := openTarget(t, s, func(o *Options) { o.Port, o.AcceptNew, o.Files = proxy.Port(), true, by })
		big := g.put(t, "big", string(make([]byte, 1<<20)), 0o644)
		proxy.CutAfter(faultproxy.Down, 300_000)
		got, err := g.Set().Read.ReadFile(t.Context(), big, 0)
		if err != nil || len(got) != 1<<20 {
			t.Errorf("%s: %d bytes, %v", by, len(got), err)
		}
	}
}

func TestWriteCutAnywhereIsOldOrNewOrUnknown(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *servers.SSHD{
		"SFTP":  fileServer,
		"shell": func(t *testing.T) *servers.SSHD { return servers.StartSSHD(t, servers.SSHDOptions{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cutWrites(t, start(t))
		})
	}
}

// cutWrites cuts the link at many points of a write.
func cutWrites(t *testing.T, s *servers.SSHD) {
	t.Helper()
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address()})
	must(t, err)
	defer func() { must(t, proxy.Close()) }()
	g := openTarget(t, s, func(o *Options) { o.Port, o.AcceptNew = proxy.Port(), true })
	before, after := string(make([]byte, 1000)), "new content"
	for _, d := range []faultproxy.Direction{faultproxy.Up, faultproxy.Down} {
		for _, n := range []int64{1, 200, 400, 600, 800, 1000, 1300, 1600, 4000, 8000, 9000, 10_000} {
			// A script that lost its client may still end its work: each has a file
			// of its own.
			p := g.put(t, fmt.Sprintf("f-%v-%d", d, n), before, 0o644)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			must(t, g.Set().Read.Access(ctx, p)) // the link is there
			proxy.CutAfter(d, n)
			_, err := g.Set().Write.WriteFile(ctx, p, []byte(after))
			if ctx.Err() != nil {
				t.Errorf("cut %v after %d: the call hung", d, n)
			}
			cancel()
			proxy.CutAfter(d, -1)
			got := string(must2(t, p))
			switch {
			case err == nil && got != after:
				t.Errorf("cut %v after %d: success, but the content is old", d, n)
			case err != nil && ops.KindOf(err) != ops.KindOutcomeUnknown && got != before:
				t.Errorf("cut %v after %d: %v, but the content is %d bytes", d, n, err, len(got))
			case got != before && got != after:
				t.Errorf("cut %v after %d: %d bytes, neither old nor new", d, n, len(got))
			}
		}
	}
}

package ssh

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// behindProxy opens a folder behind a helper, over a proxy.
func behindProxy(tb testing.TB, o faultproxy.Options) (*target, *faultproxy.Proxy, *servers.SSHD) {
	tb.Helper()
	s := servers.StartSSHD(tb, servers.SSHDOptions{})
	o.Target = s.Address()
	proxy, err := faultproxy.Listen(tb.Context(), o)
	must(tb, err)
	tb.Cleanup(func() { must(tb, proxy.Close()) })
	bundle := helpertest.Bundle(tb)
	return openTarget(tb, s, func(o *Options) {
		o.Port, o.AcceptNew, o.Helper, o.Helpers = proxy.Port(), true, helper.Require, bundle
	}), proxy, s
}

// A flood of output costs 4 MiB of the link at most, and ends in its exact tail; all
// of it is at the target (hazard TRUN-01).
func TestFloodCostsLittleOfTheLink(t *testing.T) {
	size := int64(100_000_000)
	if os.Getenv("PIREMOTE_SOAK") == "1" { //nolint:forbidigo // tests read their own switches
		size = 1_000_000_000
	}
	g, proxy, _ := behindProxy(t, faultproxy.Options{})
	proxy.ResetCounts()
	var delivered, dropped int64
	var tail []byte
	exit, err := g.Set().Bash.Exec(t.Context(), ops.Command{
		Script: fmt.Sprintf("seq -f 'line %%012.0f' 1 %d", size/18), Spill: true, SpillLimit: 2 * size,
	}, func(c ops.Chunk) {
		delivered, dropped = delivered+int64(len(c.Data)), dropped+c.Dropped
		if c.Dropped > 0 {
			tail = tail[:0]
		}
		if tail = append(tail, c.Data...); len(tail) > 128<<10 {
			tail = bytes.Clone(tail[len(tail)-64<<10:])
		}
	})
	must(t, err)
	total := size / 18 * 18
	if exit.Code != 0 || delivered+dropped != total || exit.SpillSize != total || exit.SpillCut {
		t.Errorf("%d delivered and %d dropped of %d, %+v", delivered, dropped, total, exit)
	}
	if n := proxy.Counts().Down; n > 4<<20 {
		t.Errorf("%d bytes came over the link", n)
	}
	spilled, err := os.ReadFile(exit.SpillPath)
	must(t, err)
	if !bytes.HasSuffix(spilled, tail) || len(tail) < 64<<10 {
		t.Errorf("a tail of %d bytes is not that of the output", len(tail))
	}
	for i := range size / 18 {
		if want := fmt.Sprintf("line %012d\n", i+1); i%1000 == 0 && string(spilled[i*18:(i+1)*18]) != want {
			t.Fatalf("the file at the target is wrong at line %d", i+1)
		}
	}
}

// Many calls at once need one channel (hazard SSHX-05).
func TestManyCallsShareOneChannel(t *testing.T) {
	g, proxy, _ := behindProxy(t, faultproxy.Options{Delay: delay})
	path := g.put(t, "f", strings.Repeat("x", 4096), 0o644)
	proxy.ResetCounts()
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			if b, err := g.Set().Read.ReadFile(t.Context(), path, 0); err != nil || len(b) != 4096 {
				t.Errorf("%d bytes, %v", len(b), err)
			}
		})
	}
	wg.Wait()
	if n := proxy.Counts().Connections; n != 0 {
		t.Errorf("%d further connections", n)
	}
}

// BenchmarkConnect measures connecting, authentication included, over 100 ms and
// 10 Mbit/s: to a host that has no helper yet, and to one that has.
func BenchmarkConnect(b *testing.B) {
	home := b.TempDir()
	s := servers.StartSSHD(b, servers.SSHDOptions{Config: []string{"SetEnv HOME=" + home}})
	proxy, err := faultproxy.Listen(b.Context(), faultproxy.Options{Target: s.Address(), Delay: 50 * time.Millisecond, Bandwidth: 1_250_000})
	must(b, err)
	b.Cleanup(func() { must(b, proxy.Close()) })
	bundle := helpertest.Bundle(b)
	for name, first := range map[string]bool{"first": true, "later": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if first {
					b.StopTimer()
					must(b, os.RemoveAll(filepath.Join(home, ".cache")))
					b.StartTimer()
				}
				g := openTarget(b, s, func(o *Options) {
					o.Port, o.AcceptNew, o.Helper, o.Helpers = proxy.Port(), true, helper.Require, bundle
				})
				b.StopTimer()
				if r := g.Remote().Report(); r.Uploaded != first {
					b.Fatalf("%+v", r)
				}
				must(b, g.Close())
				b.StartTimer()
			}
		})
	}
}

// BenchmarkParallel compares many calls at once over 100 ms with one, and commands
// with the same of a shell on this machine.
func BenchmarkParallel(b *testing.B) {
	g, _, _ := behindProxy(b, faultproxy.Options{Delay: 50 * time.Millisecond})
	path := g.put(b, "f", strings.Repeat("x", 4096), 0o644)
	together := func(b *testing.B, n int, call func() error) {
		b.Helper()
		for b.Loop() {
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					if err := call(); err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
		}
	}
	read := func() error { _, err := g.Set().Read.ReadFile(b.Context(), path, 0); return err }
	b.Run("read", func(b *testing.B) { together(b, 1, read) })
	b.Run("64 reads", func(b *testing.B) { together(b, 64, read) })
	b.Run("50 sleeps", func(b *testing.B) {
		together(b, 50, func() error {
			_, err := g.Set().Bash.Exec(b.Context(), ops.Command{Script: "sleep 0.1"}, func(ops.Chunk) {})
			return err
		})
	})
	b.Run("50 sleeps here", func(b *testing.B) {
		together(b, 50, func() error { return exec.CommandContext(b.Context(), "bash", "-c", "sleep 0.1").Run() })
	})
}

// BenchmarkStartUpFile compares calls on an account whose shell takes 70 ms to start
// with calls on one whose shell does not.
func BenchmarkStartUpFile(b *testing.B) {
	for name, text := range map[string]string{"plain": "", "70 ms": "sleep 0.07\n"} {
		home := b.TempDir()
		must(b, os.WriteFile(filepath.Join(home, ".bashrc"), []byte(text), 0o644))
		s := servers.StartSSHD(b, servers.SSHDOptions{Config: []string{"SetEnv HOME=" + home}})
		g := openTarget(b, s, func(o *Options) { o.Helper, o.Helpers = helper.Require, helpertest.Bundle(b) })
		path := g.put(b, "f", strings.Repeat("x", 4096), 0o644)
		b.Run(name+"/read", func(b *testing.B) {
			for b.Loop() {
				_, err := g.Set().Read.ReadFile(b.Context(), path, 0)
				must(b, err)
			}
		})
		b.Run(name+"/exec", func(b *testing.B) {
			for b.Loop() {
				_, err := g.Set().Bash.Exec(b.Context(), ops.Command{Script: "true"}, func(ops.Chunk) {})
				must(b, err)
			}
		})
	}
}

// BenchmarkBulk compares large reads and writes with scp over the same link.
func BenchmarkBulk(b *testing.B) {
	const size = 100 << 20
	g, proxy, s := behindProxy(b, faultproxy.Options{Delay: 50 * time.Millisecond})
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(i>>3 ^ i*i>>11)
	}
	far, near := filepath.Join(g.dir, "far"), filepath.Join(b.TempDir(), "near")
	must(b, os.WriteFile(far, content, 0o644))
	must(b, os.WriteFile(near, content, 0o644))
	scp := func(from, to string) {
		cmd := exec.CommandContext(b.Context(), "scp", "-q", "-B", "-P", fmt.Sprint(proxy.Port()), "-i", s.IdentityFile,
			"-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", from, to)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	remote := s.User + "@127.0.0.1:" + far
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			got, err := g.Set().Read.ReadFile(b.Context(), far, 0)
			if err != nil || !bytes.Equal(got, content) {
				b.Fatalf("%d bytes, %v", len(got), err)
			}
		}
	})
	b.Run("scp from", func(b *testing.B) {
		for b.Loop() {
			scp(remote, near)
		}
	})
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			_, err := g.Set().Write.WriteFile(b.Context(), far, content)
			must(b, err)
		}
	})
	b.Run("scp to", func(b *testing.B) {
		for b.Loop() {
			scp(near, remote)
		}
	})
}

//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/docker"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/local"
	"github.com/piremote/piremote/backends/ssh"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// bench is an open workspace with its tools.
type bench struct {
	executor *call.Executor
	host     string // its folder on this machine
}

func newBench(b *testing.B, set ops.Set, host string) *bench {
	b.Helper()
	list, err := tools.New(set, []string{"read", "ls", "find", "grep", "write", "edit", "bash"}, tools.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 20 {
		name := filepath.Join(host, "src", fmt.Sprintf("file%02d.go", i))
		text := strings.Repeat("package src // an ordinary line of text\n", 50) + fmt.Sprintf("var needle%d = 1\n", i)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return &bench{executor: call.New(call.Options{Tools: func() []tool.Tool { return list }}), host: host}
}

// step is one tool call; it is made anew for each sample, so that a change is one.
type step struct {
	name, tool string
	args       func(i int) map[string]any
}

func steps() []step {
	fixed := func(args map[string]any) func(int) map[string]any { return func(int) map[string]any { return args } }
	file := "src/file03.go"
	return []step{
		{"read", "read", fixed(map[string]any{"path": file})},
		{"ls", "ls", fixed(map[string]any{"path": "src"})},
		{"find", "find", fixed(map[string]any{"pattern": "**/*.go"})},
		{"grep", "grep", fixed(map[string]any{"pattern": `needle\d+`})},
		{"write", "write", func(i int) map[string]any {
			return map[string]any{"path": "written.txt", "content": fmt.Sprintf("version %d\n", i)}
		}},
		{"edit", "edit", func(i int) map[string]any {
			return map[string]any{"path": file, "edits": []map[string]string{
				{"oldText": fmt.Sprintf("needle3 = %d\n", i+1), "newText": fmt.Sprintf("needle3 = %d\n", i+2)},
			}}
		}},
		{"bash", "bash", fixed(map[string]any{"command": "true"})},
	}
}

// run measures one tool: the median of its samples, and the same as a metric.
func (x *bench) run(b *testing.B, s step) time.Duration {
	b.Helper()
	// Each run of the benchmark begins with the same file.
	file := filepath.Join(x.host, "src", "file03.go")
	if err := os.WriteFile(file, []byte("package src\n\nvar needle3 = 1\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	var samples []time.Duration
	for b.Loop() {
		args, err := json.Marshal(s.args(len(samples)))
		if err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		outcome := x.executor.Do(b.Context(), call.Request{ID: "1", Name: s.tool, Args: args}, nil)
		samples = append(samples, time.Since(start))
		if outcome.IsError {
			b.Fatalf("%s: %v", s.tool, outcome.Err)
		}
	}
	slices.Sort(samples)
	median := samples[len(samples)/2]
	b.ReportMetric(float64(median.Microseconds())/1000, "median-ms")
	b.ReportMetric(0, "ns/op") // the mean says little about so few samples
	return median
}

func BenchmarkToolLocal(b *testing.B) {
	dir := b.TempDir()
	w, err := local.Open(b.Context(), local.Options{Dir: dir, Env: os.Environ()})
	closeLater(b, w, err)
	x := newBench(b, w.Set(), dir)
	for _, s := range steps() {
		b.Run(s.name, func(b *testing.B) { x.run(b, s) })
	}
}

// BenchmarkLs lists ten thousand entries, all of them shown.
func BenchmarkLs(b *testing.B) {
	dir := b.TempDir()
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("entry-%05d.txt", i)), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	w, err := local.Open(b.Context(), local.Options{Dir: dir, Env: os.Environ()})
	closeLater(b, w, err)
	x := newBench(b, w.Set(), dir)
	x.run(b, step{"ls", "ls", func(int) map[string]any { return map[string]any{"limit": 10_000} }})
}

// modes are the names of the policies that the remote targets are measured under.
var modes = map[string]helper.Policy{"helper": helper.Require, "agentless": helper.Never} //nolint:gochecknoglobals // a table

func BenchmarkToolDocker(b *testing.B) {
	d := servers.StartDockerd(b)
	for mode, policy := range modes {
		dir := b.TempDir()
		name := d.Run(b, servers.ContainerOptions{Binds: []string{dir + ":/ws"}})
		w, err := docker.Open(b.Context(), docker.Options{
			Container: name, Dir: "/ws", Host: d.Host, Helper: policy, Helpers: helpertest.Bundle(b),
		})
		closeLater(b, w, err)
		x := newBench(b, w.Set(), dir)
		for _, s := range steps() {
			b.Run(mode+"/"+s.name, func(b *testing.B) { x.run(b, s) })
		}
	}
}

// BenchmarkToolSSH measures through a proxy that adds the round-trip time of the
// name. A round trip is counted as (t at 200 ms - t at 0 ms) / 200 ms; the bytes are
// those that passed the proxy, encryption included.
func BenchmarkToolSSH(b *testing.B) {
	s := servers.StartSSHD(b, servers.SSHDOptions{})
	for mode, policy := range modes {
		toolSSH(b, s, mode, policy)
	}
}

func toolSSH(b *testing.B, s *servers.SSHD, mode string, policy helper.Policy) {
	b.Helper()
	proxy, err := faultproxy.Listen(b.Context(), faultproxy.Options{Target: s.Address()})
	closeLater(b, proxy, err)
	dir := b.TempDir()
	w, err := ssh.Open(b.Context(), ssh.Options{
		Host: "127.0.0.1", Port: proxy.Port(), User: s.User, Dir: dir, Home: s.Home, ConfigFile: "none", AcceptNew: true,
		Helper: policy, Helpers: helpertest.Bundle(b),
	})
	closeLater(b, w, err)
	x := newBench(b, w.Set(), dir)
	for _, st := range steps() {
		near := time.Duration(0)
		for _, rtt := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
			b.Run(fmt.Sprintf("%s/%s/%dms", mode, st.name, rtt.Milliseconds()), func(b *testing.B) {
				proxy.SetDelay(rtt / 2)
				proxy.ResetCounts()
				median := x.run(b, st)
				counts := proxy.Counts()
				b.ReportMetric(float64(counts.Up+counts.Down)/float64(b.N), "B-moved/op")
				if rtt == 0 {
					near = median
				} else {
					b.ReportMetric((median-near).Seconds()/rtt.Seconds(), "trips/op")
				}
			})
		}
		proxy.SetDelay(0)
	}
}

// BenchmarkConnect measures a whole call of the command line: start, connection,
// one read, end.
func BenchmarkConnect(b *testing.B) {
	for _, x := range []target{localTarget(b), sshTarget(b, servers.StartSSHD(b, servers.SSHDOptions{})), dockerTarget(b)} {
		if err := os.WriteFile(filepath.Join(x.host, "a.txt"), []byte("a\n"), 0o644); err != nil {
			b.Fatal(err)
		}
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				if r := x.on(b, "tool", "read", "path=a.txt"); r.code != 0 {
					b.Fatalf("%+v", r)
				}
			}
		})
	}
	b.Run("version", func(b *testing.B) {
		for b.Loop() {
			run(b, nil, "version")
		}
		if info, err := os.Stat(binary); err == nil {
			b.ReportMetric(float64(info.Size())/(1<<20), "MiB-binary")
		}
	})
}

// BenchmarkFlood reads a gigabyte of a command's output and reports the client's
// peak memory.
func BenchmarkFlood(b *testing.B) {
	const size = 1_000_000_000
	for _, x := range []target{localTarget(b), sshTarget(b, servers.StartSSHD(b, servers.SSHDOptions{})), dockerTarget(b)} {
		b.Run(x.name, func(b *testing.B) {
			b.SetBytes(size)
			peak := int64(0)
			for b.Loop() {
				r := x.on(b, "tool", "bash", fmt.Sprintf("command=yes | head -c %d; echo; echo the end", size), "timeout=170")
				if r.code != 0 || !strings.Contains(r.stdout, "the end\n") {
					b.Fatalf("%d %q", r.code, r.stderr)
				}
				peak = max(peak, r.peak)
			}
			b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
		})
	}
	b.Run("baseline", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			command(b, "sh", "-c", fmt.Sprintf("yes | head -c %d | cat >/dev/null", size))
		}
	})
}

// closer is what a benchmark closes at its end.
type closer interface{ Close() error }

func closeLater(b *testing.B, c closer, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	})
}

func command(b *testing.B, name string, args ...string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", name, err, out)
	}
}

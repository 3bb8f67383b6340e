//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/local"
	"github.com/piremote/piremote/tools/ops"
)

// race runs two things by turns and reports their medians and how many times as
// long the first takes.
func race(b *testing.B, ours, theirs func()) {
	b.Helper()
	var a, c []time.Duration
	for b.Loop() {
		start := time.Now()
		ours()
		middle := time.Now()
		theirs()
		a, c = append(a, middle.Sub(start)), append(c, time.Since(middle))
	}
	slices.Sort(a)
	slices.Sort(c)
	x, y := a[len(a)/2], c[len(c)/2]
	b.ReportMetric(float64(x.Microseconds())/1000, "ours-ms")
	b.ReportMetric(float64(y.Microseconds())/1000, "theirs-ms")
	b.ReportMetric(x.Seconds()/y.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op") // of both together: it says nothing
}

func goSource(b *testing.B) string {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	src, err := filepath.EvalSymlinks(filepath.Join(strings.TrimSpace(string(out)), "src"))
	if err != nil {
		b.Fatal(err)
	}
	return src
}

// BenchmarkSearch compares the local engine with rg and fd on Go's own source
// tree, without a limit, start of the programs included.
func BenchmarkSearch(b *testing.B) {
	src := goSource(b)
	w, err := local.Open(b.Context(), local.Options{Dir: src, Env: os.Environ()})
	closeLater(b, w, err)
	searcher, ok := w.Set().Grep.(ops.Searcher)
	globber, ok2 := w.Set().Find.(ops.Globber)
	if !ok || !ok2 {
		b.Fatal("the local engine has no search")
	}
	for _, c := range []struct {
		name string
		req  ops.SearchRequest
		args []string
	}{
		{"rare-literal", ops.SearchRequest{Pattern: "ErrUnexpectedEOFX", Literal: true}, []string{"-F"}},
		{"frequent-literal", ops.SearchRequest{Pattern: "return", Literal: true}, []string{"-F"}},
		{"word", ops.SearchRequest{Pattern: `\bTODO\b`}, nil},
		{"prefix", ops.SearchRequest{Pattern: `func [A-Z]\w+\(ctx`}, nil},
		{"ignore-case", ops.SearchRequest{Pattern: "unexpected", IgnoreCase: true}, []string{"-i"}},
		{"no-literal", ops.SearchRequest{Pattern: `[a-z]+ing\s+[a-z]+ed\b`}, nil},
	} {
		b.Run("grep/"+c.name, func(b *testing.B) {
			c.req.Root, c.req.Path = src, src
			args := append([]string{"--no-config", "--no-require-git", "--hidden", "-n", "--no-heading"}, c.args...)
			args = append(args, "-e", c.req.Pattern, src)
			found, lines := 0, 0
			race(b, func() {
				found = 0
				if _, err := searcher.Search(b.Context(), c.req, func(l ops.SearchLine) bool {
					if !l.Binary { // of which rg does not speak
						found++
					}
					return true
				}); err != nil {
					b.Fatal(err)
				}
			}, func() { lines = linesOf(b, "rg", args...) })
			if found != lines {
				b.Errorf("%d lines, rg finds %d", found, lines)
			}
		})
	}
	b.Run("find", func(b *testing.B) {
		found, lines := 0, 0
		race(b, func() {
			found = 0
			req := ops.GlobRequest{Root: src, Path: src, Pattern: "**/*.go"}
			if _, err := globber.Glob(b.Context(), req, func(string) bool { found++; return true }); err != nil {
				b.Fatal(err)
			}
		}, func() {
			lines = linesOf(b, "fdfind", "--hidden", "--glob", "*.go", src)
		})
		if found != lines {
			b.Errorf("%d paths, fd finds %d", found, lines)
		}
	})
}

// linesOf runs a program and counts the lines that it prints.
func linesOf(b *testing.B, name string, args ...string) int {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), name, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		b.Fatalf("%s: %v", name, err)
	}
	return strings.Count(string(out), "\n")
}

// BenchmarkExec compares a command of the local engine with a bare fork and exec.
func BenchmarkExec(b *testing.B) {
	w, err := local.Open(b.Context(), local.Options{Dir: b.TempDir(), Env: os.Environ()})
	closeLater(b, w, err)
	race(b, func() {
		if _, err := w.Set().Bash.Exec(b.Context(), ops.Command{Script: "true"}, nil); err != nil {
			b.Fatal(err)
		}
	}, func() { command(b, "/bin/bash", "-c", "true") })
}

//go:build linux

package docker

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/tools/ops"
)

// BenchmarkSandboxStart compares, by turns, a sandbox up to the result of its first
// command with docker run --rm of the same image. The time of an operation is that of
// both.
func BenchmarkSandboxStart(b *testing.B) {
	program, err := exec.LookPath("docker")
	if err != nil {
		servers.Missing(b, "docker", "package docker.io")
	}
	o := sandboxOptions(b)
	var runs, sandboxes []time.Duration
	for b.Loop() {
		start := time.Now()
		cmd := exec.CommandContext(b.Context(), program, "--host", o.Host, "run", "--rm", "--network", "none", o.Image, "true")
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		runs = append(runs, time.Since(start))
		start = time.Now()
		s, err := OpenSandbox(b.Context(), o)
		must(b, err)
		exit, err := s.Set().Bash.Exec(b.Context(), ops.Command{Script: "true"}, nil)
		sandboxes = append(sandboxes, time.Since(start))
		if err != nil || exit.Code != 0 {
			b.Fatalf("%+v, %v", exit, err)
		}
		must(b, s.Close())
	}
	run, sandbox := median(runs), median(sandboxes)
	b.ReportMetric(run.Seconds()*1000, "ms/run")
	b.ReportMetric(sandbox.Seconds()*1000, "ms/sandbox")
	b.ReportMetric(float64(sandbox)/float64(run), "ratio")
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

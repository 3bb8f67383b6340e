package local

import (
	"os/exec"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// What a command costs: bare is fork and exec alone, and the yardstick. A
// supervised command must stay below 2.5 times that; the first one of a
// workspace costs a supervisor more.

func BenchmarkBare(b *testing.B) {
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), "/bin/bash", "-c", "true")
		cmd.WaitDelay = time.Second
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDirect(b *testing.B) { benchmarkTrue(b, mode{}) }

func BenchmarkSupervised(b *testing.B) { benchmarkTrue(b, mode{supervised: true}) }

func benchmarkTrue(b *testing.B, m mode) {
	b.Helper()
	_, e, _ := open(b, m.options(b))
	for b.Loop() {
		execTrue(b, e)
	}
}

// BenchmarkSupervisedFirst pays for a new supervisor each time.
func BenchmarkSupervisedFirst(b *testing.B) {
	w, e, _ := supervisedWorkspace(b)
	for b.Loop() {
		execTrue(b, e)
		b.StopTimer()
		w.supervisors.close()
		w.supervisors.closed = false
		b.StartTimer()
	}
}

func execTrue(b *testing.B, e engine) {
	b.Helper()
	if exit, err := e.Exec(b.Context(), ops.Command{Script: "true", Shell: ops.Shell{Path: "/bin/bash"}}, nil); err != nil || exit.Code != 0 {
		b.Fatal(exit, err)
	}
}

package local

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// longFile writes a file of about 220 MB with 2,600,000 lines of various lengths.
func longFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "long")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	const text = " the quick brown fox jumps over the lazy dog, and over and over and over, until dawn\n"
	line := make([]byte, 0, 100)
	for i := range 2_600_000 {
		line = append(strconv.AppendInt(line[:0], int64(10_000_001+i), 10), text[i%20:]...)
		_, _ = w.Write(line) // Flush tells
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

var farWindow = ops.WindowRequest{Offset: 1_000_000, Limit: 201, MaxBytes: 50 << 10}

func checkFar(t testing.TB, win ops.Window, err error) {
	t.Helper()
	if err != nil || win.Lines != 201 || win.TotalLines != 2_600_000 || string(win.Data[:8]) != "11000000" {
		t.Fatalf("%d lines of %d, %v: %.20s", win.Lines, win.TotalLines, err, win.Data)
	}
}

// TestREAD01FarWindowInLittleMemory reads lines 1,000,000 to 1,000,200.
func TestREAD01FarWindowInLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200 MB")
	}
	path := longFile(t)
	_, e, _ := open(t, func(o *Options) { o.Dir = filepath.Dir(path) })
	start := time.Now()
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			win, err := e.ReadWindow(b.Context(), path, farWindow)
			checkFar(b, win, err)
		}
	})
	t.Logf("%d bytes are allocated, %v a read, %v in all", allocated.AllocedBytesPerOp(), time.Duration(allocated.NsPerOp()), time.Since(start))
	if n := allocated.AllocedBytesPerOp(); n > 2<<20 {
		t.Errorf("allocates %d bytes", n)
	}
}

// What a far window costs: sed with quitting is the yardstick for the lines, sed
// without for lines and their number, which a window tells as well.

func BenchmarkFarWindow(b *testing.B) {
	path := longFile(b)
	_, e, _ := open(b, func(o *Options) { o.Dir = filepath.Dir(path) })
	b.Run("window", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			win, err := e.ReadWindow(b.Context(), path, farWindow)
			checkFar(b, win, err)
		}
	})
	for name, script := range map[string]string{"sed": "1000000,1000200p", "sed that quits": "1000000,1000200p;1000200q"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), "sed", "-n", script, path)
				cmd.WaitDelay = time.Second
				if out, err := cmd.Output(); err != nil || len(out) == 0 {
					b.Fatal(err)
				}
			}
		})
	}
}

package local

import (
	"os"
	"testing"

	"github.com/piremote/piremote/backends/backendtest/confinement"
	"github.com/piremote/piremote/tools/ops"
)

// openMaze opens a folder, and closes it with the test.
func openMaze(t *testing.T, root string) ops.Set {
	t.Helper()
	w, _, _ := open(t, func(o *Options) { o.Dir = root })
	return w.Set()
}

func FuzzCONF03Maze(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x03\x00\x06\x01\x0c\x01\x02\x05\x13\x01\x01\x00\x07\x05\x03\x02\x08\x04\x01\x02"))
	f.Fuzz(func(t *testing.T, data []byte) { confinement.Enter(t, data, openMaze) })
}

func TestCONF03MazesMeanWhatTheKernelSays(t *testing.T) {
	mazes := 60
	if os.Getenv("PIREMOTE_SOAK") == "1" { //nolint:forbidigo // tests read their own switches
		mazes = 20_000
	}
	confinement.Mazes(t, mazes, openMaze)
}

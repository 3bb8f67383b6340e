package client_test

import (
	"os"
	"testing"

	"github.com/piremote/piremote/backends/backendtest/confinement"
	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/tools/ops"
)

// openMaze opens a folder behind a helper, and closes it with the test.
func openMaze(t *testing.T, root string) ops.Set {
	t.Helper()
	w, err := client.Open(t.Context(), client.Options{Dial: helper(t, t.TempDir()), Label: "helper:" + root, Backend: "helper", Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w.Set()
}

func FuzzCONF03Maze(f *testing.F) {
	f.Add([]byte("\x03\x00\x06\x01\x0c\x01\x02\x05\x13\x01\x01\x00\x07\x05\x03\x02\x08\x04\x01\x02"))
	f.Fuzz(func(t *testing.T, data []byte) { confinement.Enter(t, data, openMaze) })
}

func TestCONF03MazesMeanWhatTheKernelSays(t *testing.T) {
	mazes := 12
	if os.Getenv("PIREMOTE_SOAK") == "1" { //nolint:forbidigo // tests read their own switches
		mazes = 5000
	}
	confinement.Mazes(t, mazes, openMaze)
}

package confinement

import (
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/piremote/piremote/internal/require"
	"github.com/piremote/piremote/tools/ops"
)

// mazeBytes describe a maze of the largest kind.
const mazeBytes = 160

// Mazes checks a workspace in each of n random mazes; it tells the seed. open opens a
// workspace on a folder of this machine, which it closes with the test.
func Mazes(t *testing.T, n int, open func(t *testing.T, root string) ops.Set) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := 0; i < n && !t.Failed(); i++ {
		data := make([]byte, 0, mazeBytes)
		for len(data) < mazeBytes {
			data = binary.LittleEndian.AppendUint64(data, r.Uint64())
		}
		Enter(t, data, open)
	}
}

// Enter checks a workspace in the maze that data describe. Where the
// kernel gives no answers to compare with, openat2 is missing; see package require.
func Enter(t *testing.T, data []byte, open func(t *testing.T, root string) ops.Set) {
	t.Helper()
	if !supported() {
		require.Missing(t, "openat2", "the kernel, or what confines this process, does not let it be called")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMaze(base, data)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(t.Context(), open(t, m.Root)); err != nil {
		t.Errorf("maze %q: %v", data, err)
	}
}

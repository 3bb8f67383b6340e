package largebuf_test

import (
	"testing"

	"github.com/piremote/piremote/backends/internal/largebuf"
)

func TestMakeHoldsWhatIsWritten(t *testing.T) {
	for _, n := range []int{0, 1, 4<<20 - 1, 4 << 20, 4<<20 + 4095, 9_999_999} {
		b := largebuf.Make(n)
		if len(b) != n {
			t.Fatalf("%d bytes, not %d", len(b), n)
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("byte %d of %d is %d", i, n, b[i])
			}
			b[i] = byte(i)
		}
		for i := range b {
			if b[i] != byte(i) {
				t.Fatalf("byte %d of %d is lost", i, n)
			}
		}
	}
}

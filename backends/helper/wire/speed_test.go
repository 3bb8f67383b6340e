package wire

import (
	"encoding/hex"
	"testing"
	"time"
)

// paced is a stream that takes so many bytes a second, by a clock of its own.
type paced struct {
	clock time.Time
	rate  int64
	taken int64
}

func (p *paced) Write(b []byte) (int, error) {
	p.taken += int64(len(b))
	p.clock = p.clock.Add(time.Duration(int64(len(b)) * int64(time.Second) / p.rate))
	return len(b), nil
}

// What a slow stream gets is compressed, what a fast one gets is not, also when the
// one becomes the other.
func TestOnlySlowStreamsAreCompressed(t *testing.T) {
	p := &paced{}
	w := NewWriter(p)
	w.Compress(true)
	w.speed.now = func() time.Time { return p.clock }
	frame := Frame{Type: TypeItem, Payload: []byte(hex.EncodeToString(randomBytes(50_000)))}
	for _, c := range []struct {
		rate   int64
		packed bool
	}{{1 << 20, true}, {100 << 20, false}, {1 << 20, true}} {
		p.rate = c.rate
		for range 400 { // enough to learn it
			if err := w.Write(frame); err != nil {
				t.Fatal(err)
			}
		}
		p.taken = 0
		if err := w.Write(frame); err != nil {
			t.Fatal(err)
		}
		if packed := p.taken < int64(len(frame.Payload))*3/4; packed != c.packed {
			t.Errorf("at %d bytes a second compressed: %v, want %v", c.rate, packed, c.packed)
		}
	}
}

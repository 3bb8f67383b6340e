//go:build linux

package server

import (
	"bytes"
	"sync"
	"time"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// tape holds what a command printed until the client has it. Writing never blocks:
// what the client can't take, or would never show, is dropped from the middle and
// counted, so that a flood costs little on the way (specification: 1 GB of output
// moves at most 4 MiB).
//
// The first eagerBytes are delivered as they come. Behind them the client gets a
// glimpse of the newest output now and then, and the last tailBytes at the end.
type tape struct {
	mu      sync.Mutex
	changed chan struct{} // holds a token when there may be something new

	unsent []piece // in order, without holes
	size   int64   // bytes of data in unsent
	end    int64   // offset behind the newest piece

	sent []sentPiece // not taken by the client yet, oldest first

	eager   int64 // bytes that may still be delivered as they come
	glimpse time.Time
	over    bool // nothing more will be written
	now     func() time.Time
}

// What a tape delivers and keeps, in bytes.
const (
	eagerBytes   = 2 << 20
	pendingBytes = 1 << 20   // kept for a client that is behind, while delivery is eager
	tailBytes    = 256 << 10 // kept afterwards
	glimpseBytes = 16 << 10
	glimpseEvery = 200 * time.Millisecond
	pieceBytes   = 32 << 10 // of one item
)

// piece is a part of the output: dropped bytes, then data.
type piece struct {
	offset  int64
	dropped int64
	lines   int64 // line feeds among the dropped
	data    []byte
}

func (p piece) after() int64 { return p.offset + p.dropped + int64(len(p.data)) }

func (p piece) output() *wire.Output {
	return &wire.Output{Offset: p.offset, Chunk: ops.Chunk{Dropped: p.dropped, DroppedLines: p.lines, Data: p.data}}
}

// sentPiece is a piece that is under way, and how many bytes of items the client
// has taken when it has taken this one too.
type sentPiece struct {
	piece
	taken int64
}

func newTape() *tape { return &tape{changed: make(chan struct{}, 1), eager: eagerBytes, now: time.Now} }

// write adds output. The tape keeps no reference to b.
func (t *tape) write(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	keep := int64(pendingBytes)
	if t.eager <= 0 {
		keep = tailBytes
	}
	at := t.end
	t.end += int64(len(b))
	if over := int64(len(b)) - keep; over > 0 { // the beginning of b itself is never kept
		t.dropTo(at)
		p := piece{offset: at, dropped: over, lines: feeds(b[:over])}
		t.unsent = append(t.unsent, p)
		at, b = at+over, b[over:]
	}
	t.unsent = append(t.unsent, piece{offset: at, data: bytes.Clone(b)})
	t.size += int64(len(b))
	// Now and then is enough, and copies less.
	if t.size > 2*keep {
		t.dropTo(t.end - keep)
	}
	t.wake()
}

// dropTo drops the unsent data before an offset.
func (t *tape) dropTo(offset int64) {
	if len(t.unsent) == 0 || t.unsent[0].offset >= offset {
		return
	}
	gap := piece{offset: t.unsent[0].offset}
	for len(t.unsent) > 0 {
		p := t.unsent[0]
		if p.offset >= offset {
			break
		}
		gap.dropped += p.dropped
		gap.lines += p.lines
		n := min(int64(len(p.data)), max(offset-p.offset-p.dropped, 0))
		gap.dropped += n
		gap.lines += feeds(p.data[:n])
		t.size -= n
		if n < int64(len(p.data)) {
			t.unsent[0] = piece{offset: gap.offset, dropped: gap.dropped, lines: gap.lines, data: p.data[n:]}
			return
		}
		t.unsent = t.unsent[1:]
	}
	t.unsent = append([]piece{gap}, t.unsent...)
}

// take returns the next piece to send, if one may be sent now; else how long to
// wait if nothing is written, zero meaning for ever.
func (t *tape) take() (p piece, ok bool, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.unsent) == 0 {
		return piece{}, false, 0
	}
	switch {
	case t.eager > 0:
	case t.over:
		t.dropTo(t.end - tailBytes)
	default:
		if left := t.glimpse.Sub(t.now()); left > 0 {
			return piece{}, false, left
		}
		t.glimpse = t.now().Add(glimpseEvery)
		t.dropTo(t.end - glimpseBytes)
	}
	p = t.next()
	t.eager -= int64(len(p.data))
	return p, true, 0
}

// next removes what fits an item from the beginning of what is unsent.
func (t *tape) next() piece {
	p := t.unsent[0]
	t.unsent = t.unsent[1:]
	for len(t.unsent) > 0 && len(p.data)+len(t.unsent[0].data) <= pieceBytes && t.unsent[0].dropped == 0 {
		p.data = append(p.data[:len(p.data):len(p.data)], t.unsent[0].data...)
		t.size -= int64(len(t.unsent[0].data))
		t.unsent = t.unsent[1:]
	}
	if len(p.data) > pieceBytes {
		rest := piece{offset: p.offset + p.dropped + pieceBytes, data: p.data[pieceBytes:]}
		p.data = p.data[:pieceBytes:pieceBytes]
		t.unsent = append([]piece{rest}, t.unsent...)
		t.size += int64(len(rest.data))
	}
	t.size -= int64(len(p.data))
	return p
}

// delivered remembers a piece that is under way, until the client has taken so
// many bytes of items.
func (t *tape) delivered(p piece, taken int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, sentPiece{p, taken})
}

// taken forgets the pieces that the client has taken.
func (t *tape) taken(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.sent) > 0 && t.sent[0].taken <= n {
		t.sent = t.sent[1:]
	}
}

// rewind makes everything unsent from an offset on, for a new connection. It
// reports false, and changes nothing, if what lies there is gone, or was never
// delivered.
func (t *tape) rewind(from int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from < t.begin() || from > t.ahead() {
		return false
	}
	var again []piece
	for _, s := range t.sent {
		if s.after() > from {
			again = append(again, s.piece)
		}
	}
	t.sent = nil
	t.unsent = append(again, t.unsent...)
	for _, p := range again {
		t.size += int64(len(p.data))
	}
	t.wake()
	if len(t.unsent) == 0 {
		return true
	}
	first := &t.unsent[0]
	if had := from - first.offset; had > 0 { // the client counts whole items
		if had > first.dropped {
			n := had - first.dropped
			first.data, t.size = first.data[n:], t.size-n
			first.dropped, first.lines = 0, 0
		} else {
			first.dropped -= had
		}
		first.offset = from
	}
	return true
}

// begin is the offset of the first byte that can still be delivered.
func (t *tape) begin() int64 {
	if len(t.sent) > 0 {
		return t.sent[0].offset
	}
	return t.ahead()
}

// ahead is the offset of the first byte that was not sent yet.
func (t *tape) ahead() int64 {
	if len(t.unsent) > 0 {
		return t.unsent[0].offset
	}
	return t.end
}

// finish says that nothing more will be written.
func (t *tape) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.wake()
}

// done reports whether everything was sent.
func (t *tape) done() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over && len(t.unsent) == 0
}

func (t *tape) wake() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

func feeds(b []byte) int64 { return int64(bytes.Count(b, []byte{'\n'})) }

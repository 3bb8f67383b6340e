package match

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// finder searches for a needle by its two rarest bytes, eight places at a time.
type finder struct {
	needle
	first, second int    // where the two bytes are in the needle; first <= second
	want1, want2  uint64 // the bytes, eight times
	fold1, fold2  uint64 // their case bits, eight times
	single        bool   // the byte at first is rare and has one case
}

// veryRare is the commonness up to which looking for one byte is best.
const veryRare = 4

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func newFinder(n needle) *finder {
	f := &finder{needle: n}
	best, next := -1, -1
	rank := func(i int) int { return commonness(n.text[i], n.fold[i] != 0) }
	for i := range n.text {
		switch {
		case best < 0 || rank(i) < rank(best):
			best, next = i, best
		case next < 0 || rank(i) < rank(next):
			next = i
		}
	}
	if next < 0 {
		next = best
	}
	f.single = n.fold[best] == 0 && (len(n.text) == 1 || rank(best) <= veryRare)
	if f.single {
		next = best
	}
	f.first, f.second = min(best, next), max(best, next)
	f.want1, f.fold1 = uint64(n.text[f.first])*ones, uint64(n.fold[f.first])*ones
	f.want2, f.fold2 = uint64(n.text[f.second])*ones, uint64(n.fold[f.second])*ones
	return f
}

// index returns the first place of the needle in data at or after from, or -1.
func (f *finder) index(data []byte, from int) int {
	if f.single {
		return f.indexSingle(data, from)
	}
	gap := f.second - f.first
	// pos is where the first byte is looked for.
	pos, last := from+f.first, len(data)-len(f.text)+f.first
	for ; pos+gap+8 <= len(data); pos += 8 {
		x := (binary.LittleEndian.Uint64(data[pos:]) | f.fold1) ^ f.want1
		y := (binary.LittleEndian.Uint64(data[pos+gap:]) | f.fold2) ^ f.want2
		// A byte of z is zero where both bytes fit.
		z := x | y
		hits := (z - ones) &^ z & highs
		for ; hits != 0; hits &= hits - 1 {
			at := pos + bits.TrailingZeros64(hits)>>3
			if at <= last && f.at(data[at-f.first:]) {
				return at - f.first
			}
		}
	}
	for ; pos <= last; pos++ {
		if f.at(data[pos-f.first:]) {
			return pos - f.first
		}
	}
	return -1
}

func (f *finder) indexSingle(data []byte, from int) int {
	c := f.text[f.first]
	for pos := from + f.first; pos < len(data); pos++ {
		i := bytes.IndexByte(data[pos:], c)
		if i < 0 {
			return -1
		}
		pos += i
		if f.at(data[pos-f.first:]) {
			return pos - f.first
		}
	}
	return -1
}

package textout

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// Accumulator turns a raw output stream into the text that a model sees of it:
// the end, within limits. Bytes are decoded as they come; "\r\n" is a line
// feed; text after a lone "\r" replaces the line, so only the last state of a
// rewritten line is kept; a backspace erases; control sequences are removed.
// How the stream is cut into writes changes nothing. Memory is bounded by about
// twice the limits, whatever is written; of a line that outgrows that, the start
// is forgotten for good. It is not safe for concurrent use. (Hazards TRUN-01,
// TRUN-04, BASH-09.)
type Accumulator struct {
	limits  Limits
	cleaner cleaner
	scratch []byte

	lines     []byte // whole lines that may be shown, each with its line feed
	count     int    // lines in lines
	shed      int64  // whole lines that are no longer in lines
	headCut   bool   // the first of lines is too long to be shown whole
	afterDrop bool   // what came right before lines was lost, not shed for a limit
	line      []byte // the line that is being written
	lineCut   bool   // the start of line was given up
	pending   bool   // a "\r" came: what follows replaces the line
	resync    int    // continuation bytes that may be the rest of a lost character
	rawBytes  int64
	dropped   int64
}

// NewAccumulator returns an empty accumulator.
func NewAccumulator(l Limits) *Accumulator {
	return &Accumulator{limits: l.orDefaults()}
}

// Write takes the next bytes. It never fails and keeps nothing of p.
func (a *Accumulator) Write(p []byte) (int, error) {
	n := len(p)
	a.rawBytes += int64(n)
	for ; a.resync > 0 && len(p) > 0; a.resync-- {
		if utf8.RuneStart(p[0]) {
			a.resync = 0
			break
		}
		p = p[1:]
	}
	p = a.skip(p)
	// A line that begins and ends in one block can't exceed the limit of bytes.
	size := min(64<<10, a.limits.Bytes)
	for len(p) > 0 {
		block := p[:min(len(p), size)]
		p = p[len(block):]
		if a.cleaner.state == ground && plainBytes(block) {
			a.plain(block)
			continue
		}
		a.scratch = a.cleaner.append(a.scratch[:0], block, false)
		a.text(a.scratch)
	}
	return n, nil
}

// Flush ends the stream. A character or control sequence that is not complete
// then is given out as it stands; before, a Snapshot does not show it.
func (a *Accumulator) Flush() {
	a.text(a.cleaner.append(nil, nil, true))
}

// Drop notes output that was lost before what comes next: bytes, and the line
// feeds among them. The text then begins after the loss.
func (a *Accumulator) Drop(n, lines int64) {
	if n <= 0 && lines <= 0 {
		return
	}
	a.dropped += n
	a.rawBytes += n
	a.forget(lines)
	a.line, a.lineCut, a.pending = a.line[:0], false, false
	a.cleaner.end()
	a.afterDrop, a.resync = true, utf8.UTFMax-1
}

// skip passes over whole lines of a big write that can't be part of the end,
// because whole lines behind them fill the limit of bytes on their own.
func (a *Accumulator) skip(p []byte) []byte {
	keep := a.limits.Bytes + 1
	if len(p) <= 2*keep || a.cleaner.state != ground {
		return p
	}
	last := bytes.LastIndexByte(p, '\n') + 1
	if last <= keep {
		return p
	}
	end := bytes.LastIndexByte(p[:last-keep], '\n') + 1
	if end == 0 || !plainBytes(p[end:last]) {
		return p
	}
	// A control sequence could swallow line feeds.
	if bytes.IndexByte(p[:end], esc) >= 0 || bytes.IndexByte(p[:end], c1) >= 0 {
		return p
	}
	a.forget(int64(bytes.Count(p[:end], []byte{'\n'})))
	a.line, a.lineCut, a.pending = a.line[:0], false, false
	return p[end:]
}

// forget sheds all lines and counts more that were never kept.
func (a *Accumulator) forget(more int64) {
	a.shed += int64(a.count) + more
	a.lines, a.count = a.lines[:0], 0
	a.headCut, a.afterDrop = false, false
}

// plainBytes reports whether p is printable ASCII, line feeds and tabs only. It
// looks at eight bytes at a time: the high bit of each byte says what it is.
func plainBytes(p []byte) bool {
	const ones = 0x0101010101010101
	for ; len(p) >= 8; p = p[8:] {
		w := binary.LittleEndian.Uint64(p)
		printable := w + 0x60*ones                                         // set from 0x20 on
		other := (w ^ '\n'*ones + 0x7f*ones) & (w ^ '\t'*ones + 0x7f*ones) // clear for LF and tab
		del := w + ones                                                    // set for 0x7f
		if (other&^printable|del|w)&(0x80*ones) != 0 {
			return false
		}
	}
	for _, b := range p {
		if b < 0x20 && b != '\n' && b != '\t' || b >= 0x7f {
			return false
		}
	}
	return true
}

// plain takes a block that needs no decoding, its whole lines at once.
func (a *Accumulator) plain(p []byte) {
	first, last := bytes.IndexByte(p, '\n'), bytes.LastIndexByte(p, '\n')
	if first < 0 {
		a.extend(p)
		return
	}
	a.extend(p[:first])
	a.endLine()
	if whole := p[first+1 : last+1]; len(whole) > 0 {
		a.lines = append(a.lines, whole...)
		a.count += bytes.Count(whole, []byte{'\n'})
		a.shrink()
	}
	a.extend(p[last+1:])
}

// text takes decoded text.
func (a *Accumulator) text(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexAny(p, "\n\r\b")
		if i < 0 {
			a.extend(p)
			return
		}
		a.extend(p[:i])
		switch p[i] {
		case '\n':
			a.endLine()
		case '\r':
			a.pending = true
		case '\b':
			if !a.pending && len(a.line) > 0 {
				_, n := utf8.DecodeLastRune(a.line)
				a.line = a.line[:len(a.line)-n]
			}
		}
		p = p[i+1:]
	}
}

// extend adds whole characters to the current line. A line that has no room for
// the next one is cut to what exceeds the limit just so.
func (a *Accumulator) extend(p []byte) {
	if len(p) == 0 {
		return
	}
	if a.pending {
		a.line, a.lineCut, a.pending = a.line[:0], false, false
	}
	keep := a.limits.Bytes + utf8.UTFMax
	for room := 2*keep - len(a.line); len(p) > room; room = 2*keep - len(a.line) {
		for room > 0 && !utf8.RuneStart(p[room]) {
			room--
		}
		a.line = append(a.line, p[:room]...)
		p = p[room:]
		a.line = append(a.line[:0], runeSuffix(a.line, keep)...)
		a.lineCut = true
	}
	a.line = append(a.line, p...)
}

func (a *Accumulator) endLine() {
	a.pending = false
	if a.lineCut || len(a.line) > a.limits.Bytes {
		// It can only be shown in part, and only while it is the last.
		a.forget(0)
		a.headCut = true
	}
	a.lines = append(append(a.lines, a.line...), '\n')
	a.count++
	a.line, a.lineCut = a.line[:0], false
	a.shrink()
}

// shrink forgets lines that can't be shown any more, now and then.
func (a *Accumulator) shrink() {
	if len(a.lines) <= 2*a.limits.Bytes && a.count <= 2*a.limits.Lines || a.headCut && a.count == 1 {
		return
	}
	from, kept := tailStart(a.lines, a.limits, a.headCut)
	if from == 0 {
		return
	}
	a.shed += int64(a.count - kept)
	a.count = kept
	a.lines = append(a.lines[:0], a.lines[from:]...)
	a.headCut, a.afterDrop = false, false
}

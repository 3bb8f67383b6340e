package textout

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Accumulator turns a raw output stream into the text that a model sees of it:
// the end, within limits. Bytes are decoded as they come; "\r\n" is a line
// feed; a lone "\r" starts the line anew and only its last state is kept;
// control sequences are removed. Memory is bounded by the limits, whatever is
// written. It is not safe for concurrent use. (Hazards TRUN-01, TRUN-04,
// BASH-09.)
type Accumulator struct {
	limits  Limits
	cleaner cleaner
	scratch []byte

	lines    []byte // whole lines that may be shown, each with its line feed
	count    int    // lines in lines
	shed     int64  // whole lines that are no longer in lines
	line     []byte // the line that is being written
	lineCut  bool   // the start of line was given up
	pending  bool   // a "\r" came: what follows replaces the line
	rawBytes int64
	dropped  int64
}

// NewAccumulator returns an empty accumulator.
func NewAccumulator(l Limits) *Accumulator {
	return &Accumulator{limits: l.orDefaults()}
}

// Write takes the next bytes. It never fails.
func (a *Accumulator) Write(p []byte) (int, error) {
	n := len(p)
	a.rawBytes += int64(n)
	p = a.skip(p)
	// A line that begins and ends in one block can't exceed the limit of bytes.
	size := min(64<<10, a.limits.Bytes)
	for len(p) > 0 {
		block := p[:min(len(p), size)]
		p = p[len(block):]
		if len(a.cleaner.held) == 0 && plainBytes(block) {
			a.plain(block)
			continue
		}
		a.scratch = a.cleaner.append(a.scratch[:0], block, false)
		a.text(a.scratch)
	}
	return n, nil
}

// skip passes over whole lines of a big write that can't be part of the end,
// because what follows them fills the limit of bytes on its own.
func (a *Accumulator) skip(p []byte) []byte {
	keep := a.limits.Bytes + 1
	if len(p) <= 2*keep || len(a.cleaner.held) > 0 {
		return p
	}
	end := bytes.LastIndexByte(p[:len(p)-keep], '\n') + 1
	if end == 0 || !plainBytes(p[end:]) {
		return p
	}
	// A control sequence could swallow line feeds.
	if bytes.IndexByte(p[:end], 0x1b) >= 0 || bytes.IndexByte(p[:end], 0xc2) >= 0 {
		return p
	}
	a.shed += int64(a.count + bytes.Count(p[:end], []byte{'\n'}))
	a.lines, a.count = a.lines[:0], 0
	a.line, a.lineCut, a.pending = a.line[:0], false, false
	return p[end:]
}

// plainBytes reports whether p is printable ASCII, line feeds and tabs only.
func plainBytes(p []byte) bool {
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
		if len(a.lines) > 3*a.limits.Bytes || a.count > 3*a.limits.Lines {
			a.shrink()
		}
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

// extend adds to the current line.
func (a *Accumulator) extend(p []byte) {
	if !plainBytes(p) {
		p = dropControls(p)
	}
	if len(p) == 0 {
		return
	}
	if a.pending {
		a.line, a.lineCut, a.pending = a.line[:0], false, false
	}
	a.line = append(a.line, p...)
	if bound := 2 * a.limits.Bytes; len(a.line) > bound {
		cut := len(a.line) - a.limits.Bytes - utf8.UTFMax // what stays still exceeds the limit
		a.line = append(a.line[:0], a.line[cut:]...)
		a.lineCut = true
	}
}

func (a *Accumulator) endLine() {
	a.pending = false
	if a.lineCut || len(a.line) > a.limits.Bytes {
		// It can only be shown in part, and only while it is the last.
		a.shed += int64(a.count)
		a.lines = append(a.lines[:0], a.line[max(0, len(a.line)-a.limits.Bytes-utf8.UTFMax):]...)
		a.lines = append(a.lines, '\n')
		a.count = 1
		a.line, a.lineCut = a.line[:0], false
		return
	}
	a.lines = append(append(a.lines, a.line...), '\n')
	a.count++
	a.line = a.line[:0]
	if len(a.lines) > 3*a.limits.Bytes || a.count > 3*a.limits.Lines {
		a.shrink()
	}
}

// shrink forgets lines that can't be shown any more.
func (a *Accumulator) shrink() {
	from, kept := tailStart(a.lines, a.limits)
	a.shed += int64(a.count - kept)
	a.count = kept
	a.lines = append(a.lines[:0], a.lines[from:]...)
}

// tailStart returns where the last lines of text begin that fit the limits, how
// many they are. Every line ends in a line feed; the last one's is not counted.
func tailStart(text []byte, l Limits) (from, lines int) {
	from = len(text)
	for from > 0 {
		start := bytes.LastIndexByte(text[:from-1], '\n') + 1
		if len(text)-1-start > l.Bytes || lines == l.Lines {
			return from, lines
		}
		from, lines = start, lines+1
	}
	return from, lines
}

// Drop notes output that was lost before what comes next.
func (a *Accumulator) Drop(n, lines int64) {
	a.dropped += n
	a.rawBytes += n
	a.shed += lines + int64(a.count)
	a.lines, a.count = a.lines[:0], 0
	a.line, a.lineCut, a.pending = a.line[:0], false, false
	a.cleaner = cleaner{}
}

// Snapshot is the state of a stream.
type Snapshot struct {
	Text        string // the end of the output, without a final line feed
	TotalLines  int64  // lines of the whole output
	TotalBytes  int64  // raw bytes of the whole output
	FirstLine   int64  // number of the first line in Text, from 1
	LastLine    int64  // number of the last line in Text
	Truncated   bool   // Text is not everything
	ByBytes     bool   // the limit of bytes cut it; else that of lines
	PartialLine bool   // Text is the end of one line that is itself too long
	Dropped     int64  // bytes that were lost on the way
}

// Snapshot returns the present state; more may be written afterwards.
func (a *Accumulator) Snapshot() Snapshot {
	if len(a.cleaner.held) > 0 {
		return a.flushed().Snapshot()
	}
	line := a.line
	text, count := a.lines, a.count
	if len(line) > 0 {
		text = append(append(append([]byte(nil), text...), line...), '\n')
		count++
	}
	s := Snapshot{TotalLines: a.shed + int64(count), TotalBytes: a.rawBytes, Dropped: a.dropped}
	s.LastLine = s.TotalLines
	from, kept := tailStart(text, a.limits)
	if kept == 0 && count > 0 {
		// One line alone is too long: show its end.
		end := len(text) - 1
		from = end - a.limits.Bytes
		for from < end && !utf8.RuneStart(text[from]) {
			from++
		}
		s.PartialLine, kept = true, 1
	}
	s.FirstLine = s.TotalLines - int64(kept) + 1
	s.Truncated = s.FirstLine > 1 || s.PartialLine || a.dropped > 0
	s.ByBytes = s.Truncated && kept < a.limits.Lines
	s.Text = strings.TrimSuffix(string(text[from:]), "\n")
	if count == 0 {
		s.FirstLine, s.LastLine = 0, 0
	}
	return s
}

// flushed is a copy in which what was held back is given out as it stands.
func (a *Accumulator) flushed() *Accumulator {
	c := *a
	c.lines, c.line, c.scratch = bytes.Clone(a.lines), bytes.Clone(a.line), nil
	c.text(c.cleaner.append(nil, nil, true))
	return &c
}

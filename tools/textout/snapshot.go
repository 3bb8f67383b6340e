package textout

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Snapshot is the state of a stream.
type Snapshot struct {
	// Text is the end of the output: at most Limits.Lines lines and Limits.Bytes
	// bytes of valid UTF-8, whole lines, without a final line feed.
	Text string
	// TotalLines counts the line feeds of the whole output, and one for what
	// follows the last; TotalBytes its raw bytes. Both include what was lost.
	TotalLines int64
	TotalBytes int64
	// FirstLine and LastLine are the numbers, from 1, of the lines in Text; both
	// are 0 if it has none.
	FirstLine int64
	LastLine  int64
	// Truncated reports that Text is not everything; ByLines and ByBytes which
	// limit cut it, if one did.
	Truncated bool
	ByLines   bool
	ByBytes   bool
	// PartialLine reports that the last line alone exceeds the limit of bytes,
	// and Text is its end.
	PartialLine bool
	// Dropped counts bytes that were lost on the way. Text may then begin within
	// a line.
	Dropped int64
}

// Snapshot returns the present state; more may be written afterwards. A
// character or control sequence that is not complete yet is not shown.
func (a *Accumulator) Snapshot() Snapshot {
	text, count := a.lines, a.count
	if len(a.line) > 0 {
		text = make([]byte, 0, len(a.lines)+len(a.line)+1)
		text = append(append(append(text, a.lines...), a.line...), '\n')
		count++
	}
	s := Snapshot{TotalLines: a.shed + int64(count), TotalBytes: a.rawBytes, Dropped: a.dropped}
	from, kept := len(text), 0
	if len(a.line) == 0 || !a.lineCut {
		from, kept = tailStart(text, a.limits, a.headCut)
	}
	hidden := a.shed > 0 || count > kept
	switch {
	case count == 0:
		s.Truncated = hidden || a.dropped > 0
		return s
	case kept == 0:
		// The last line alone is too long: show its end.
		last := text[bytes.LastIndexByte(text[:len(text)-1], '\n')+1 : len(text)-1]
		s.Text = string(runeSuffix(last, a.limits.Bytes))
		s.PartialLine, s.ByBytes, kept = true, true, 1
	default:
		s.Text = strings.TrimSuffix(string(text[from:]), "\n")
		s.ByLines = hidden && kept == a.limits.Lines
		s.ByBytes = hidden && !s.ByLines && (from > 0 || !a.afterDrop)
	}
	s.LastLine = s.TotalLines
	s.FirstLine = s.TotalLines - int64(kept) + 1
	s.Truncated = hidden || s.PartialLine || a.dropped > 0
	return s
}

// tailStart returns where the last lines of text begin that fit the limits, and
// how many they are. Every line ends in a line feed; the last one's is not
// counted. With headCut the first line does not fit, whatever its length.
func tailStart(text []byte, l Limits, headCut bool) (from, lines int) {
	from = len(text)
	for from > 0 {
		start := bytes.LastIndexByte(text[:from-1], '\n') + 1
		if len(text)-1-start > l.Bytes || lines == l.Lines || headCut && start == 0 {
			return from, lines
		}
		from, lines = start, lines+1
	}
	return from, lines
}

// runeSuffix returns the longest end of p of at most size bytes that begins with
// a whole character. p is valid UTF-8.
func runeSuffix(p []byte, size int) []byte {
	from := max(0, len(p)-size)
	for from < len(p) && !utf8.RuneStart(p[from]) {
		from++
	}
	return p[from:]
}

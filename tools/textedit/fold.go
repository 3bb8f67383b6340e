package textedit

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded is a text without the differences that a tolerant match ignores:
// blanks at line ends, "\r\n", Unicode quotes, dashes and spaces, and all that
// NFKC unifies. It knows where every piece comes from.
type folded struct {
	text []byte
	runs []run // in order, without gaps in text
}

// run is a stretch of folded text. A plain run maps byte for byte; any other is
// one unit of the original, which a match takes whole or not at all.
type run struct {
	at, size   int32 // in the folded text, which is at most a few times maxFold
	start, end int32 // in the original
	plain      bool
}

// fold reads content, which is at most maxFold long; offsets start from shift.
func fold(content []byte, shift int) *folded {
	f := &folded{text: make([]byte, 0, len(content))}
	var buf, normal []byte
	for i := 0; i < len(content); {
		c := content[i]
		if n := asciiPrefix(content[i:]); n > 0 {
			f.plain(content[i:i+n], shift+i)
			i += n
			continue
		}
		switch {
		case c == '\n':
			f.endLine(shift+i, shift+i+1)
			i++
		case c == '\r' && i+1 < len(content) && content[i+1] == '\n':
			f.endLine(shift+i, shift+i+2)
			i += 2
		default:
			unit := content[i : i+unitSize(content[i:])]
			if r, size := utf8.DecodeRune(unit); size == len(unit) && (size == 1 || foldRune(r) == r && norm.NFKC.IsNormal(unit)) {
				f.plain(unit, shift+i) // one character, or one byte that is no UTF-8
			} else {
				buf, normal = foldUnit(buf, normal, unit)
				f.add(buf, shift+i, shift+i+len(unit), false)
			}
			i += len(unit)
		}
	}
	f.dropBlanks()
	return f
}

// asciiPrefix counts the characters at the start of b that stand for
// themselves: ASCII without line endings and without what combines with it.
func asciiPrefix(b []byte) int {
	n := 0
	for n < len(b) && b[n] < utf8.RuneSelf && b[n] != '\n' && b[n] != '\r' {
		n++
	}
	if n > 0 && n < len(b) && b[n] >= utf8.RuneSelf {
		n--
	}
	return n
}

// unitSize is the length of the first unit of b: a character with what combines
// with it, or one byte that is no UTF-8.
func unitSize(b []byte) int {
	r, size := utf8.DecodeRune(b)
	if r == utf8.RuneError && size <= 1 {
		return 1
	}
	return max(norm.NFKC.NextBoundary(b, true), size)
}

// foldUnit folds a unit, which is valid UTF-8, into dst; normal is a buffer.
// Both are returned for the next unit.
func foldUnit(dst, normal, unit []byte) (folded, buffer []byte) {
	normal = norm.NFKC.Append(normal[:0], unit...)
	dst = dst[:0]
	for rest := normal; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		dst = utf8.AppendRune(dst, foldRune(r))
		rest = rest[size:]
	}
	return dst, normal
}

// foldRune unifies what looks alike and NFKC keeps apart.
func foldRune(r rune) rune {
	switch r {
	case '\u2018', '\u2019', '\u201A', '\u201B':
		return '\''
	case '\u201C', '\u201D', '\u201E', '\u201F':
		return '"'
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
		return '-'
	}
	if r >= utf8.RuneSelf && unicode.Is(unicode.Zs, r) {
		return ' '
	}
	return r
}

func (f *folded) plain(b []byte, start int) {
	if n := len(f.runs); n > 0 && f.runs[n-1].plain && int(f.runs[n-1].end) == start {
		f.runs[n-1].size += int32(len(b)) //nolint:gosec // bounded by maxFold
		f.runs[n-1].end += int32(len(b))  //nolint:gosec // bounded by maxFold
		f.text = append(f.text, b...)
		return
	}
	f.add(b, start, start+len(b), true)
}

func (f *folded) add(b []byte, start, end int, plain bool) {
	r := run{start: int32(start), end: int32(end), plain: plain} //nolint:gosec // bounded by maxFold
	r.at, r.size = int32(len(f.text)), int32(len(b))             //nolint:gosec // bounded by maxFold
	f.text = append(f.text, b...)
	if len(f.runs) == cap(f.runs) {
		f.runs = slices.Grow(f.runs, len(f.runs)+64) // there may be millions: double
	}
	f.runs = append(f.runs, r)
}

func (f *folded) endLine(start, end int) {
	f.dropBlanks()
	if end-start == 1 {
		f.plain([]byte("\n"), start)
		return
	}
	f.add([]byte("\n"), start, end, false)
}

// dropBlanks removes blanks from the end of what was read so far.
func (f *folded) dropBlanks() {
	for len(f.runs) > 0 {
		last := &f.runs[len(f.runs)-1]
		switch c := f.text[len(f.text)-1]; {
		case last.size == 1 || last.plain:
			if c != ' ' && c != '\t' && c != '\r' {
				return
			}
		default:
			return
		}
		f.text = f.text[:len(f.text)-1]
		last.size--
		if last.plain {
			last.end--
		}
		if last.size == 0 {
			f.runs = f.runs[:len(f.runs)-1]
		}
	}
}

// span maps a range of the folded text back. ok is false if it would cut a unit.
func (f *folded) span(start, end int) (s span, ok bool) {
	first, last := f.runAt(start), f.runAt(end-1)
	if !first.plain && start != int(first.at) || !last.plain && end != int(last.at+last.size) {
		return span{}, false
	}
	return span{first.startOf(start), last.endOf(end - 1)}, true
}

// runAt returns the run with the byte at offset.
func (f *folded) runAt(offset int) run {
	low, high := 0, len(f.runs)
	for high-low > 1 {
		if middle := (low + high) / 2; int(f.runs[middle].at) <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	return f.runs[low]
}

// startOf is where the byte at offset starts in the original.
func (r run) startOf(offset int) int {
	if r.plain {
		return int(r.start) + offset - int(r.at)
	}
	return int(r.start)
}

// endOf is where the byte at offset ends in the original.
func (r run) endOf(offset int) int {
	if r.plain {
		return int(r.start) + offset - int(r.at) + 1
	}
	return int(r.end)
}

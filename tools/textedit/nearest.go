package textedit

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Region is a piece of the file that is similar to a text that was not found.
type Region struct {
	FirstLine, LastLine int
	Difference          string // what differs, as a clause
	Text                string // the lines, numbered, cut to a few
}

const (
	maxNearest      = 8 << 20 // bytes of the file that are searched
	maxNearestOld   = 16 << 10
	maxRegionLines  = 12 // shown
	maxRegionLine   = 200
	similarityFloor = 0.5 // of a region to be called similar, from 0 to 1
)

func (t *source) notFound(ref Ref, old string) error {
	return &NotFoundError{Ref: ref, Lines: t.lines(), Nearest: t.nearest(old)}
}

// nearest finds the region most like old: the one that differs in blanks, case
// and look-alikes only, else the one whose lines share most. It looks at the
// first 8 MiB of the file and 16 KiB of old.
func (t *source) nearest(old string) *Region {
	old = strings.TrimPrefix(old, bom)
	old = old[:min(len(old), maxNearestOld)]
	text := t.content[t.begin:min(len(t.content), t.begin+maxNearest)]
	s, loose := looseMatch(text, old)
	if loose {
		s = s.withBlanks(text)
	} else {
		var similar bool
		if s, similar = similarLines(text, old); !similar {
			return nil
		}
	}
	c := comparison{have: splitLines(string(text[s.start:s.end])), old: splitLines(old), line: t.line(t.begin + s.start), loose: loose}
	r := &Region{Difference: c.difference()}
	whole := span{lineStart(text, s.start), s.end}
	if whole.end == whole.start || text[whole.end-1] != '\n' {
		whole.end = lineEnd(text, s.end)
	}
	lines := splitLines(string(text[whole.start:whole.end]))
	r.FirstLine = 1 + bytes.Count(text[:whole.start], []byte("\n"))
	r.LastLine = r.FirstLine + max(len(lines), 1) - 1
	r.Text = numbered(lines, r.FirstLine)
	return r
}

// numbered shows the first lines with their numbers.
func numbered(lines []string, first int) string {
	var b strings.Builder
	for i, line := range lines {
		if i == maxRegionLines {
			fmt.Fprintf(&b, "... (%s more)\n", plural(len(lines)-i, "line"))
			break
		}
		fmt.Fprintf(&b, "%d: %s\n", first+i, shorten(strings.TrimRight(line, "\r\n"), maxRegionLine))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// looseMatch finds old in text with all blanks and line endings left out and
// case and look-alikes unified.
func looseMatch(text []byte, old string) (span, bool) {
	pattern, _ := squeeze([]byte(old), false)
	if len(pattern) < 3 {
		return span{}, false
	}
	squeezed, marks := squeeze(text, true)
	i := bytes.Index(squeezed, pattern)
	if i < 0 {
		return span{}, false
	}
	return span{unsqueeze(text, marks, i), unsqueeze(text, marks, i+len(pattern)-1) + 1}.wholeRunes(text), true
}

// withBlanks extends s over the blanks before and behind it in its lines, and
// over the line ending.
func (s span) withBlanks(text []byte) span {
	if start := lineStart(text, s.start); len(bytes.TrimSpace(text[start:s.start])) == 0 {
		s.start = start
	}
	if end := lineEnd(text, s.end); len(bytes.TrimSpace(text[s.end:end])) == 0 {
		s.end = end
	}
	return s
}

// wholeRunes extends the end to the end of a character.
func (s span) wholeRunes(text []byte) span {
	for s.end < len(text) && !utf8.RuneStart(text[s.end]) {
		s.end++
	}
	return s
}

// markEvery is the distance of marks in a squeezed text, in bytes of the text.
const markEvery = 1 << 10

// squeeze appends every character of text but blanks and line endings, in lower
// case and folded by itself. marks holds how long the result was at every
// markEvery-th byte of text, if wanted.
func squeeze(text []byte, marked bool) (out []byte, marks []squeezeMark) {
	out = make([]byte, 0, len(text))
	next := 0
	for i := 0; i < len(text); {
		if marked && i >= next {
			marks = append(marks, squeezeMark{at: len(out), from: i})
			next = i + markEvery
		}
		var size int
		out, size = squeezeRune(out, text[i:])
		i += size
	}
	return out, marks
}

type squeezeMark struct{ at, from int }

// squeezeRune appends the first character of text to out, squeezed.
func squeezeRune(out, text []byte) ([]byte, int) {
	c := text[0]
	if c < utf8.RuneSelf {
		switch {
		case c == ' ' || c >= '\t' && c <= '\r':
			return out, 1
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		return append(out, c), 1
	}
	r, size := utf8.DecodeRune(text)
	if r == utf8.RuneError && size <= 1 {
		return append(out, "\uFFFD"...), 1 // as it was shown when it was read
	}
	if r = foldRune(r); unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
		return out, size
	}
	return utf8.AppendRune(out, unicode.ToLower(r)), size
}

// unsqueeze is where the byte at offset of a squeezed text comes from.
func unsqueeze(text []byte, marks []squeezeMark, offset int) int {
	low, high := 0, len(marks)
	for high-low > 1 {
		if middle := (low + high) / 2; marks[middle].at <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	at, i := marks[low].at, marks[low].from
	var buf []byte
	for i < len(text) {
		var size int
		buf, size = squeezeRune(buf[:0], text[i:])
		if at+len(buf) > offset {
			break
		}
		at += len(buf)
		i += size
	}
	return i
}

package textedit

import (
	"bytes"
	"sort"
	"strings"
)

// maxHits bounds how many places of one text are collected.
const maxHits = 10_000

// source is the original with what several edits need of it, computed on
// demand. It is used by one goroutine.
type source struct {
	content []byte
	begin   int  // of the text, behind a byte order mark
	hasCR   bool // so line endings may differ from "\n"

	unix    *crlfFolded // nil until needed
	lookish *folded     // nil until needed
}

func newSource(content []byte) *source {
	t := &source{content: content, hasCR: bytes.IndexByte(content, '\r') >= 0}
	if bytes.HasPrefix(content, []byte(bom)) {
		t.begin = len(bom)
	}
	return t
}

// line is the number of the line that holds the byte at offset.
func (t *source) line(offset int) int {
	return 1 + bytes.Count(t.content[:offset], []byte("\n"))
}

// lines is the number of lines; a last one without an end counts.
func (t *source) lines() int {
	n := bytes.Count(t.content, []byte("\n"))
	if len(t.content) > t.begin && t.content[len(t.content)-1] != '\n' {
		n++
	}
	return n
}

// ambiguous describes several hits; they are sorted.
func (t *source) ambiguous(ref Ref, hits []span, tolerant bool) error {
	e := &AmbiguousError{Ref: ref, Count: len(hits), Tolerant: tolerant}
	for _, h := range hits[:min(len(hits), 10)] {
		e.Lines = append(e.Lines, t.line(h.start))
	}
	return e
}

// find returns where old occurs, sorted by place; places may overlap. exact is
// false if only a tolerant match found them.
func (t *source) find(old string) (hits []span, exact bool) {
	if hits = t.findExact(old); len(hits) > 0 {
		return hits, true
	}
	return t.findTolerant(old), false
}

func (t *source) findExact(old string) []span {
	rest, marked := strings.CutPrefix(old, bom)
	if !marked || t.begin == 0 {
		return t.search(old)
	}
	// The mark of old is that of the file (EDIT-07), or stands elsewhere.
	var hits []span
	if end, ok := matchAt(t.content, t.begin, rest); ok {
		hits = append(hits, span{t.begin, end})
	}
	return append(hits, t.search(old)...)
}

// search finds all places of old behind the byte order mark.
func (t *source) search(old string) []span {
	if !t.hasCR || !strings.Contains(old, "\n") || strings.HasSuffix(old, "\r") {
		return occurrences(t.content[t.begin:], old, t.begin)
	}
	if hits, ok := t.byAnchor(old); ok {
		return hits
	}
	return t.byFolding(old)
}

// byFolding finds the places of old in the file with "\n" for "\r\n".
func (t *source) byFolding(old string) []span {
	if t.unix == nil {
		t.unix = foldCRLF(t.content[t.begin:])
	}
	unix := strings.ReplaceAll(old, "\r\n", "\n")
	var hits []span
	for _, h := range occurrences(t.unix.text, unix, 0) {
		start := t.begin + t.unix.original(h.start)
		if end, ok := matchAt(t.content, start, old); ok {
			hits = append(hits, span{start, end})
		}
	}
	return hits
}

// occurrences returns the places of old, overlapping ones too, moved by shift.
func occurrences(text []byte, old string, shift int) []span {
	if old == "" {
		return nil
	}
	var hits []span
	pattern := []byte(old)
	for at := 0; len(hits) < maxHits; {
		i := bytes.Index(text[at:], pattern)
		if i < 0 {
			break
		}
		at += i
		hits = append(hits, span{shift + at, shift + at + len(old)})
		at++
	}
	return hits
}

// matchAt matches old at start, "\n" also against "\r\n", and returns the end.
func matchAt(content []byte, start int, old string) (end int, ok bool) {
	at := start
	for i := 0; i < len(old); {
		rest := content[at:]
		crlf := len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n'
		switch {
		case strings.HasPrefix(old[i:], "\r\n"):
			if !crlf {
				return 0, false
			}
			i, at = i+2, at+2
		case old[i] == '\n' && crlf:
			i, at = i+1, at+2
		case len(rest) > 0 && rest[0] == old[i]:
			i, at = i+1, at+1
		default:
			return 0, false
		}
	}
	return at, true
}

// crlfFolded is a text with "\n" in place of "\r\n".
type crlfFolded struct {
	text []byte
	cuts []int // offsets in text of the "\n" that lost their "\r"
}

func foldCRLF(content []byte) *crlfFolded {
	f := &crlfFolded{text: make([]byte, 0, len(content))}
	for {
		i := bytes.Index(content, []byte("\r\n"))
		if i < 0 {
			f.text = append(f.text, content...)
			return f
		}
		f.text = append(f.text, content[:i]...)
		f.cuts = append(f.cuts, len(f.text))
		f.text = append(f.text, '\n')
		content = content[i+2:]
	}
}

// original is where the byte at offset comes from; for a "\n", where its line
// ending starts.
func (f *crlfFolded) original(offset int) int {
	return offset + sort.SearchInts(f.cuts, offset)
}

package textedit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFold bounds the size of a file in which a tolerant match is tried; the
// offsets to map back from take up to twenty times as much.
const maxFold = 16 << 20

// findTolerant returns the places of old that differ only in what folding
// removes.
func (t *source) findTolerant(old string) []span {
	p := pattern{}
	if t.begin > 0 {
		old, p.atStart = strings.CutPrefix(old, bom)
	}
	if max(len(old), len(t.content)) > maxFold || !utf8.ValidString(old) {
		return nil
	}
	p.text = string(fold([]byte(old), 0).text)
	if strings.TrimSpace(p.text) == "" {
		return nil // blanks alone are no text to recognise
	}
	if t.lookish == nil {
		t.lookish = fold(t.content[t.begin:], t.begin)
	}
	p.afterBlanks = strings.HasPrefix(p.text, "\n") && old[0] != '\n' && !strings.HasPrefix(old, "\r\n")
	// Blanks at the very end of old may be meant to stand before more text of
	// the line. Only if they don't, they are blanks at a line end.
	if tail := trailingBlanks(old); tail != "" {
		within := p
		within.text += foldBlanks(tail)
		if hits := t.tolerantHits(within); len(hits) > 0 {
			return hits
		}
		p.toLineEnd = true
	}
	return t.tolerantHits(p)
}

// pattern is a folded text to find.
type pattern struct {
	text        string
	atStart     bool // only at the start of the text
	afterBlanks bool // blanks before its first line ending belong to it
	toLineEnd   bool // only before a line ending; blanks before that belong to it
}

func (t *source) tolerantHits(p pattern) []span {
	f := t.lookish
	var hits []span
	for _, h := range occurrences(f.text, p.text, 0) {
		s, ok := f.span(h.start, h.end)
		if !ok || p.atStart && h.start != 0 {
			continue
		}
		if p.afterBlanks {
			s.start = t.begin
			if h.start > 0 {
				s.start = f.runAt(h.start - 1).endOf(h.start - 1)
			}
		}
		if p.toLineEnd {
			if h.end < len(f.text) && f.text[h.end] != '\n' {
				continue
			}
			s.end = len(t.content)
			if h.end < len(f.text) {
				s.end = f.runAt(h.end).startOf(h.end)
			}
		}
		hits = append(hits, s)
	}
	return hits
}

// trailingBlanks returns the blanks at the end of text.
func trailingBlanks(text string) string {
	return text[len(strings.TrimRightFunc(text, func(r rune) bool {
		return r == '\t' || r == '\r' || r == ' ' || unicode.Is(unicode.Zs, r)
	})):]
}

func foldBlanks(blanks string) string {
	return strings.Map(foldRune, blanks)
}

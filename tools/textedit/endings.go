package textedit

import (
	"bytes"
	"strings"
)

// localEndings gives every "\n" of text, unless it is part of a "\r\n", the line
// ending of its surroundings: of the line of s in its place, counted from the
// end where the last lines are equal; if s has no line ending, of the line in
// which s ends, else of the line before.
func (t *source) localEndings(s span, text string) string {
	if !t.hasCR || !strings.Contains(text, "\n") {
		return text
	}
	old := splitEndings(string(t.content[s.start:s.end]))
	next := splitEndings(text)
	n, m := len(old.crlf), len(next.crlf)
	if n == 0 {
		old.crlf, n = []bool{t.endingAround(s)}, 1
	}
	tail := commonTail(old.lines, next.lines)
	var b strings.Builder
	for i, line := range next.lines {
		b.WriteString(line)
		if i == m {
			break // the last piece has no ending
		}
		var crlf bool
		switch {
		case next.crlf[i]:
			crlf = true
		case m-i < tail:
			crlf = old.crlf[n-(m-i)]
		default:
			crlf = old.crlf[min(i, n-1)]
		}
		if crlf {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// endingAround reports whether the line in which s ends has "\r\n"; if no line
// ends behind s, whether the one before has.
func (t *source) endingAround(s span) bool {
	if i := bytes.IndexByte(t.content[s.end:], '\n'); i >= 0 {
		at := s.end + i
		return at > 0 && t.content[at-1] == '\r'
	}
	i := bytes.LastIndexByte(t.content[:s.start], '\n')
	return i > 0 && t.content[i-1] == '\r'
}

// pieces is a text cut at its line endings: one line more than endings.
type pieces struct {
	lines []string
	crlf  []bool
}

func splitEndings(text string) pieces {
	var p pieces
	for {
		line, rest, found := strings.Cut(text, "\n")
		if !found {
			p.lines = append(p.lines, line)
			return p
		}
		cut, crlf := strings.CutSuffix(line, "\r")
		p.lines, p.crlf = append(p.lines, cut), append(p.crlf, crlf)
		text = rest
	}
}

// commonTail counts the equal lines at the end that are not equal at the start
// too; the last piece of a text counts as a line.
func commonTail(a, b []string) int {
	n := min(len(a), len(b)) - 1
	head, tail := 0, 0
	for head < n && a[head] == b[head] {
		head++
	}
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return tail
}

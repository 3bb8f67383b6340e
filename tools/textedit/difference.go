package textedit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// comparison is a piece of the file beside the text that did not match it.
type comparison struct {
	have, old []string // lines with their endings
	line      int      // number of the first line of have
	loose     bool     // they differ only in blanks, line ends, case and look-alikes
}

// difference says in a clause what keeps the two from matching, by the first
// line that differs.
func (c comparison) difference() string {
	first := 0
	for c.loose && first < len(c.old)-1 && trimBlanks(c.old[first]) == "" {
		first++
	}
	a, b := c.have, c.old[first:]
	for i := range min(len(a), len(b)) {
		x, y := trimEnding(a[i]), trimEnding(b[i])
		if strings.Contains(x, "\r") != strings.Contains(y, "\r") {
			where := "the file"
			if strings.Contains(y, "\r") {
				where = "oldText"
			}
			return fmt.Sprintf("they differ in line ending: at line %d %s has a bare carriage return (\\r)", c.line+i, where)
		}
		if x == y || i == 0 && strings.HasSuffix(x, y) || i == len(b)-1 && strings.HasPrefix(x, y) {
			continue // old may start or end within a line
		}
		if c.loose && noBlanks(foldText(strings.ToLower(x))) != noBlanks(foldText(strings.ToLower(y))) && len(a) != len(b) {
			return fmt.Sprintf("they differ in whitespace (line breaks), first at line %d", c.line+i)
		}
		if what := lineDifference(x, y, c.line+i); what != "" {
			return what
		}
	}
	switch {
	case c.loose && first > 0:
		return fmt.Sprintf("they differ in whitespace: oldText starts with %s, which the file does not have there", plural(first, "blank line"))
	case c.loose && len(b) > len(a):
		return fmt.Sprintf("they differ in whitespace: oldText ends with %s, which the file does not have there", plural(len(b)-len(a), "blank line"))
	case len(b) > len(a):
		return fmt.Sprintf("the file ends there, and oldText goes on for %s", plural(len(b)-len(a), "line"))
	case len(a) > 0 && len(b) > 0 && strings.HasSuffix(b[len(b)-1], "\n") && !strings.HasSuffix(a[len(a)-1], "\n"):
		return "they differ in line ending: oldText ends with a line end, which the file does not have there"
	}
	return "they differ in whitespace"
}

// lineDifference compares a line of the file with one of the text, "" if they
// differ only in blanks at the end.
func lineDifference(have, old string, line int) string {
	x, y := trimBlanks(have), trimBlanks(old)
	if x == y {
		return ""
	}
	indentX, indentY := indentation(x), indentation(y)
	bodyX, bodyY := x[len(indentX):], y[len(indentY):]
	switch {
	case bodyX == bodyY:
		return fmt.Sprintf("they differ in whitespace (indentation): line %d is indented by %s, oldText by %s", line, blanks(indentX), blanks(indentY))
	case foldText(bodyX) == foldText(bodyY):
		p, q := firstRunes(bodyX, bodyY)
		return fmt.Sprintf("they differ in quotes or other look-alike characters: line %d has %s where oldText has %s", line, runeName(p), runeName(q))
	case !utf8.ValidString(bodyX) && noBlanks(bodyX) == noBlanks(bodyY):
		return fmt.Sprintf("line %d has bytes that are not valid UTF-8, so no text can match them: leave them out of oldText", line)
	case noBlanks(bodyX) == noBlanks(bodyY):
		return fmt.Sprintf("they differ in whitespace: line %d has other blanks between its words than oldText", line)
	case strings.EqualFold(bodyX, bodyY):
		p, q := firstRunes(bodyX, bodyY)
		return fmt.Sprintf("they differ in upper and lower case: line %d has %s where oldText has %s", line, runeName(p), runeName(q))
	case noBlanks(foldText(bodyX)) == noBlanks(foldText(bodyY)):
		p, q := firstRunes(noBlanks(bodyX), noBlanks(bodyY))
		return fmt.Sprintf("they differ in whitespace and in quotes or other look-alike characters: line %d has %s where oldText has %s", line, runeName(p), runeName(q))
	}
	return fmt.Sprintf("they differ in text, first at line %d, where oldText has %q", line, shorten(y, maxRegionLine))
}

func trimBlanks(s string) string {
	return strings.TrimRightFunc(s, unicode.IsSpace)
}

func indentation(s string) string {
	return s[:len(s)-len(strings.TrimLeftFunc(s, unicode.IsSpace))]
}

func foldText(s string) string {
	return string(fold([]byte(s), 0).text)
}

// noBlanks leaves blanks out and shows every invalid byte as U+FFFD.
func noBlanks(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}

// blanks describes indentation, such as "2 tabs" or "1 tab and 4 spaces".
func blanks(indent string) string {
	var parts []string
	for rest := indent; rest != ""; {
		r, _ := utf8.DecodeRuneInString(rest)
		after := strings.TrimLeft(rest, string(r))
		n := utf8.RuneCountInString(rest[:len(rest)-len(after)])
		switch r {
		case ' ':
			parts = append(parts, plural(n, "space"))
		case '\t':
			parts = append(parts, plural(n, "tab"))
		default:
			parts = append(parts, fmt.Sprintf("%d x %s", n, runeName(r)))
		}
		rest = after
	}
	switch {
	case len(parts) == 0:
		return "nothing"
	case len(parts) > 4:
		return fmt.Sprintf("%d mixed blanks", utf8.RuneCountInString(indent))
	}
	return strings.Join(parts, " and ")
}

// firstRunes are the first characters in which two texts differ.
func firstRunes(a, b string) (rune, rune) {
	for a != "" && b != "" {
		p, n := utf8.DecodeRuneInString(a)
		q, m := utf8.DecodeRuneInString(b)
		if p != q {
			return p, q
		}
		a, b = a[n:], b[m:]
	}
	p, _ := utf8.DecodeRuneInString(a)
	q, _ := utf8.DecodeRuneInString(b)
	return p, q
}

// runeName is the character and its code point, which tells look-alikes apart.
func runeName(r rune) string {
	if unicode.IsGraphic(r) && !unicode.IsSpace(r) {
		return fmt.Sprintf("%c (U+%04X)", r, r)
	}
	return fmt.Sprintf("U+%04X", r)
}

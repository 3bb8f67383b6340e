package textedit

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	displayContext = 4
	maxDisplayLine = 500     // bytes of a line that are shown
	maxDisplay     = 1 << 20 // bytes of a diff
)

// display is the diff of blocks for people. A removed line has its old number,
// every other its new one; "..." stands between hunks.
func display(content []byte, blocks []block) string {
	all := hunks(content, blocks, displayContext)
	last := 0
	crlf, lf := false, false
	for _, h := range all {
		last = max(last, h.oldLine+h.oldSize, h.newLine+h.newSize)
		for _, l := range h.lines {
			if strings.HasSuffix(l.text, "\r\n") {
				crlf = true
			} else if strings.HasSuffix(l.text, "\n") {
				lf = true
			}
		}
	}
	width := len(strconv.Itoa(last - 1))
	var b strings.Builder
	for i, h := range all {
		if i > 0 {
			fmt.Fprintf(&b, " %*s ...\n", width, "")
		}
		oldLine, newLine := h.oldLine, h.newLine
		for _, l := range h.lines {
			number := newLine
			if l.kind == '-' {
				number = oldLine
			}
			if l.kind != '+' {
				oldLine++
			}
			if l.kind != '-' {
				newLine++
			}
			fmt.Fprintf(&b, "%c%*d %s\n", l.kind, width, number, visible(l.text, crlf && lf))
			if l.kind != ' ' && !strings.HasSuffix(l.text, "\n") {
				b.WriteString("\\ No newline at end of file\n")
			}
			if b.Len() > maxDisplay {
				b.WriteString("...\n")
				return b.String()
			}
		}
	}
	return b.String()
}

// visible is a line without its ending, or with its "\r" where the
// endings differ, as valid UTF-8 and not too long.
func visible(line string, showCR bool) string {
	line = strings.TrimSuffix(line, "\n")
	if cut, found := strings.CutSuffix(line, "\r"); found {
		line = cut
		if showCR {
			line += "\r"
		}
	}
	return shorten(line, maxDisplayLine)
}

// shorten cuts text to at most limit bytes, on a character, with "..." behind.
// It shows invalid UTF-8 as U+FFFD and a bare "\r" by its symbol.
func shorten(text string, limit int) string {
	if len(text) > limit {
		for limit > 0 && !utf8.RuneStart(text[limit]) {
			limit--
		}
		text = text[:limit] + "..."
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r", "\u240D")
}

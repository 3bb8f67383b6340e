package textout

import (
	"strings"
	"unicode/utf8"
)

// Clean removes what steers a terminal: CSI, OSC, DCS, APC, PM and SOS
// sequences in their seven- and eight-bit forms, other C0 and C1 controls but
// line feed and tab, DEL, and the marks that change the direction of text. No
// printable text is dropped: of a control string without an end only the
// introducer goes. Invalid UTF-8 becomes U+FFFD. (Hazard EVNT-03.)
func Clean(s string) string {
	if plain(s) {
		return s
	}
	var c cleaner
	out := c.append(make([]byte, 0, len(s)), []byte(s), true)
	return strings.NewReplacer("\r", "", "\b", "").Replace(string(out))
}

// Line is Clean for text that must stay on one line: line breaks are spelled
// out ("\n", "\u2028") and a tab is a blank.
func Line(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", " ", "\u2028", `\u2028`, "\u2029", `\u2029`).Replace(Clean(s))
}

// plain reports whether s holds nothing that Clean would change.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if b := s[i]; b < 0x20 && b != '\n' && b != '\t' || b >= 0x7f {
			return false
		}
	}
	return true
}

// TruncateRunes returns s if it has at most limit characters, else its start and
// "…", limit characters together. A limit below 1 returns nothing.
func TruncateRunes(s string, limit int) string {
	if limit < 1 {
		return ""
	}
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	count := 0
	for i := range s {
		if count++; count == limit {
			return s[:i] + "…"
		}
	}
	return s
}

// Head returns how many of the first lines fit the limits when they are joined
// by line feeds, and whether the limit of bytes is what ended them. Only whole
// lines count: a first line that is too long alone gives 0, true.
func Head(lines []string, l Limits) (kept int, byBytes bool) {
	l = l.orDefaults()
	size := -1 // the first line has no line feed before it
	for _, line := range lines {
		if kept == l.Lines {
			return kept, false
		}
		if size += 1 + len(line); size > l.Bytes {
			return kept, true
		}
		kept++
	}
	return kept, false
}

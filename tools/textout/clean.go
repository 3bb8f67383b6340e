package textout

import (
	"strings"
	"unicode/utf8"
)

// maxSequence bounds a control sequence. A longer one is taken as text that
// merely begins like a sequence, so that nothing printable is ever swallowed
// without end.
const maxSequence = 64 << 10

// Clean removes what steers a terminal: CSI, OSC, DCS, APC, PM and SOS
// sequences in their seven- and eight-bit forms, other C0 and C1 controls but
// line feed and tab, DEL, and the marks that change the direction of text. No
// printable text is dropped. Invalid UTF-8 becomes U+FFFD. (Hazard EVNT-03.)
func Clean(s string) string {
	if plain(s) {
		return s
	}
	var c cleaner
	out := c.append(nil, []byte(s), true)
	return string(dropControls(out))
}

// Line is Clean for text that must stay on one line: line feeds become "\n".
func Line(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", " ").Replace(Clean(s))
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

// dropControls removes single control characters; sequences are gone already.
func dropControls(b []byte) []byte {
	out := b[:0]
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if !isControl(r) {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

func isControl(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c:
		return true
	}
	return false
}

// cleaner decodes a byte stream to valid UTF-8 without control sequences, in
// pieces of any size. Single control characters pass.
type cleaner struct {
	held []byte // the start of a rune or a sequence that is not complete yet
}

// append decodes p onto dst. With last set, what is incomplete is given out as
// it stands.
func (c *cleaner) append(dst, p []byte, last bool) []byte {
	if len(c.held) > 0 {
		p = append(c.held, p...)
		c.held = nil
	}
	for len(p) > 0 {
		if n := printable(p); n > 0 {
			dst, p = append(dst, p[:n]...), p[n:]
			continue
		}
		r, n := utf8.DecodeRune(p)
		switch {
		case r == utf8.RuneError && n == 1 && !last && !utf8.FullRune(p):
			c.held = append([]byte(nil), p...)
			return dst
		case r == utf8.RuneError && n == 1:
			dst = append(dst, "\uFFFD"...)
		case r == 0x1b || r >= 0x80 && r < 0xa0:
			length, complete := sequence(p, r, n)
			if !complete && !last && len(p) < maxSequence {
				c.held = append([]byte(nil), p...)
				return dst
			}
			if complete {
				n = length
			}
		default:
			dst = append(dst, p[:n]...)
		}
		p = p[n:]
	}
	return dst
}

// printable counts the leading bytes that are ASCII and start no sequence.
func printable(p []byte) int {
	for i, b := range p {
		if b >= 0x80 || b == 0x1b {
			return i
		}
	}
	return len(p)
}

// sequence returns the length of the control sequence at the start of p, whose
// introducer r takes n bytes, and whether it is complete. ECMA-48 section 5.4
// and 5.6.
func sequence(p []byte, r rune, n int) (length int, complete bool) {
	kind := byte(0)
	if r == 0x1b {
		if len(p) < 2 {
			return 0, false
		}
		kind = p[1]
		n = 2
	} else {
		kind = byte(r) - 0x40 // C1: ESC and the byte 0x40 below
	}
	switch kind {
	case '[':
		for i := n; i < len(p); i++ {
			switch b := p[i]; {
			case b >= 0x40 && b <= 0x7e:
				return i + 1, true
			case b < 0x20 || b > 0x3f:
				return i, true // broken off: drop what there was of it
			}
		}
		return 0, false
	case ']', 'P', '_', '^', 'X':
		for i := n; i < len(p); i++ {
			switch {
			case p[i] == 0x07:
				return i + 1, true
			case p[i] == 0x1b && i+1 < len(p) && p[i+1] == '\\':
				return i + 2, true
			case p[i] == 0xc2 && i+1 < len(p) && p[i+1] == 0x9c:
				return i + 2, true
			}
		}
		return 0, false
	}
	if r != 0x1b {
		return n, true
	}
	for i := 1; i < len(p); i++ {
		switch b := p[i]; {
		case b >= 0x20 && b <= 0x2f:
		case b >= 0x30 && b <= 0x7e:
			return i + 1, true
		default:
			return i, true
		}
	}
	return 0, false
}

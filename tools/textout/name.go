package textout

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// EscapeName spells a file name or path so that it can be printed on one line
// and typed back. A name of printable characters that neither begins nor ends
// with white space, as nearly all do, is itself. In any other, control
// characters, direction marks, line separators, invalid bytes, white space at
// either end and backslashes are written as \xHH, two lower-case digits for each
// byte, and the whole begins with `\:`. So the file "a<LF>b" is `\:a\x0ab`. A
// name that begins with `\:` itself is escaped too, so that no two names have
// one spelling. UnescapeName undoes it. (Hazard CONF-08.)
func EscapeName(name string) string {
	lead := len(name) - len(strings.TrimLeftFunc(name, unicode.IsSpace))
	trail := len(strings.TrimRightFunc(name, unicode.IsSpace))
	if lead == 0 && trail == len(name) && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, unprintable) && !strings.HasPrefix(name, `\:`) {
		return name
	}
	var b strings.Builder
	b.WriteString(`\:`)
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError && n == 1 || r == '\\' || unprintable(r) || i < lead || i >= trail {
			for j := range n {
				fmt.Fprintf(&b, `\x%02x`, name[i+j])
			}
		} else {
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}

func unprintable(r rune) bool {
	return r == '\n' || r == '\t' || r == 0x2028 || r == 0x2029 || isControl(r)
}

// UnescapeName returns the name that EscapeName spelled as s. It reports false
// if s is no such spelling; then s may still be a name as it stands.
func UnescapeName(s string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(s, `\:`)
	if !ok {
		return "", false
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(rest, '\\')
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		if len(rest) < i+4 || rest[i+1] != 'x' {
			return "", false
		}
		v, err := strconv.ParseUint(rest[i+2:i+4], 16, 8)
		if err != nil {
			return "", false
		}
		b.WriteByte(byte(v))
		rest = rest[i+4:]
	}
	if name = b.String(); EscapeName(name) != s {
		return "", false
	}
	return name, true
}

package textout

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// EscapeName spells a file name so that it can be printed on one line and typed
// back. A name of printable characters is itself. In any other, control
// characters, direction marks, invalid bytes and backslashes are written as
// \xHH, one for each byte, and the whole begins with `\:`. UnescapeName undoes it.
func EscapeName(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, unprintable) && !strings.HasPrefix(name, `\:`) {
		return name
	}
	var b strings.Builder
	b.WriteString(`\:`)
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && n == 1 || r == '\\' || unprintable(r) {
			for i := range n {
				fmt.Fprintf(&b, `\x%02x`, name[i])
			}
		} else {
			b.WriteString(name[:n])
		}
		name = name[n:]
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

// FormatSize writes a number of bytes for people: 512B, 1.5KB, 3.2MB.
func FormatSize(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%dB", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1fKB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1fMB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1fGB", float64(n)/(1<<30))
}

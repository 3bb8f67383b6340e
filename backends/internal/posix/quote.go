package posix

import "strings"

// Quote returns s as one word of a POSIX shell, whatever bytes it holds but
// NUL, which no shell word can hold. It is the only quoting in the tree: the
// word stands in single quotes, which are closed, escaped and opened again
// around a single quote. (Hazard BASH-03.)
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// words joins the quoted values with blanks.
func words(values ...string) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(Quote(v))
	}
	return b.String()
}

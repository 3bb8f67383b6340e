// Package oneline puts a shell script on one line, so that any login shell can be
// given it in single quotes.
package oneline

import "strings"

// Join puts a script on one line. Comments, which stand on lines of their own, go;
// a line that ends in a keyword, an operator or a case pattern is followed by a
// blank, any other by ";".
func Join(script string) string {
	var b strings.Builder
	end := ""
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if line == ";;" {
			end = " "
		}
		b.WriteString(end + line)
		if end = ";"; open(line) {
			end = " "
		}
	}
	return b.String() + end
}

// open reports whether a line of a script can't be followed by ";".
func open(line string) bool {
	for _, end := range []string{";;", "{", " (", "()", "&&", "||", "|", ";"} {
		if strings.HasSuffix(line, end) {
			return true
		}
	}
	last := line[strings.LastIndexAny(line, " \t;")+1:]
	switch last {
	case "do", "then", "else", "in":
		return true
	}
	// A case pattern stands alone; other lines with ")" at the end contain "(".
	return strings.HasSuffix(line, ")") && !strings.Contains(line, "(") && line != ")"
}

package ssh

import (
	"fmt"
	"strings"
)

// keyword splits a line of ssh_config; the keyword is in lower case, and empty if
// the line has none.
func keyword(line string) (key, rest string) {
	line = strings.Trim(line, " \t\r\n\f")
	if line == "" || line[0] == '#' {
		return "", ""
	}
	i := strings.IndexAny(line, " \t=")
	if i < 0 {
		return strings.ToLower(line), ""
	}
	return strings.ToLower(line[:i]), strings.TrimLeft(line[i:], " \t=")
}

// arguments splits a value at blanks, as OpenSSH does: quotes of both kinds keep
// them, a backslash keeps a quote, a backslash or a blank, and "#" at the begin of
// a word starts a comment.
func arguments(s string) ([]string, error) {
	var list []string
	for i := 0; ; {
		for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
			i++
		}
		if i == len(s) || s[i] == '#' {
			return list, nil
		}
		var word strings.Builder
		quote := byte(0)
		for ; i < len(s) && (quote != 0 || s[i] != ' ' && s[i] != '\t'); i++ {
			switch c := s[i]; {
			case c == '\\' && i+1 < len(s) && (strings.IndexByte(`'"\`, s[i+1]) >= 0 || quote == 0 && s[i+1] == ' '):
				i++
				word.WriteByte(s[i])
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case quote != 0 && c == quote:
				quote = 0
			default:
				word.WriteByte(c)
			}
		}
		if quote != 0 {
			return nil, fmt.Errorf("the quote %c in %q does not end", quote, s)
		}
		list = append(list, word.String())
	}
}

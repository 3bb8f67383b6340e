package match

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxAlternatives bounds how many patterns the braces of a glob are written out
// to; of a glob with more, the library works out the braces.
const maxAlternatives = 64

// alternative is a glob without braces, cut at its slashes. Segments are matched
// one by one: the library lets a class match a slash, and takes a star for
// nothing at the end of a name only if nothing or little follows it.
type alternative struct {
	segments []string
	whole    string // instead, a glob whose braces the library works out
}

// matches decides on a path that is cut at its slashes too. "**" takes any
// number of segments.
func (a alternative) matches(rel string, names []string) bool {
	if a.whole != "" {
		return doublestar.MatchUnvalidated(a.whole, rel)
	}
	want, again, from := a.segments, []string(nil), 0 // again is what follows the last "**", tried from there on
	for at := 0; ; {
		switch {
		case len(want) > 0 && want[0] == "**":
			want = want[1:]
			again, from = want, at
			if len(want) == 0 {
				return true
			}
			continue
		case len(want) == 0 && at == len(names):
			return true
		case len(want) > 0 && at < len(names) && segment(want[0], names[at]):
			want, at = want[1:], at+1
			continue
		}
		if again == nil || from == len(names) {
			return false
		}
		from++
		want, at = again, from
	}
}

func segment(pattern, name string) bool {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return pattern == name
	}
	return doublestar.MatchUnvalidated(pattern, name)
}

// alternatives writes out the braces of a valid pattern.
func alternatives(pattern string) []alternative {
	written := []string{pattern}
	for i := 0; i < len(written); {
		open, inner, after := braces(written[i])
		if open < 0 {
			i++
			continue
		}
		if len(written)+len(inner)-1 > maxAlternatives {
			return []alternative{{whole: pattern}}
		}
		before := written[i][:open]
		var with []string
		for _, text := range inner {
			with = append(with, before+text+after)
		}
		written = append(written[:i], append(with, written[i+1:]...)...)
	}
	list := make([]alternative, len(written))
	for i, p := range written {
		list[i] = alternative{segments: strings.Split(oneStar(p), "/")}
	}
	return list
}

// braces finds the first alternatives of a pattern, or open < 0.
func braces(p string) (open int, inner []string, after string) {
	depth, start := 0, 0
	open = -1
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			i = classEnd(p, i)
		case '{':
			if depth++; depth == 1 {
				open, start = i, i+1
			}
		case ',':
			if depth == 1 {
				inner, start = append(inner, p[start:i]), i+1
			}
		case '}':
			if depth--; depth == 0 {
				return open, append(inner, p[start:i]), p[i+1:]
			}
		}
	}
	return -1, nil, ""
}

// classEnd is where the class that begins at i ends, or i if it has no end.
func classEnd(p string, i int) int {
	for at := i + 1; at < len(p); at++ {
		switch p[at] {
		case '\\':
			at++
		case ']':
			return at
		}
	}
	return i
}

// oneStar writes stars beside stars as one, unless two are a whole segment.
func oneStar(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			b.WriteString(p[i:min(i+2, len(p))])
			i++
			continue
		case '[':
			end := classEnd(p, i)
			b.WriteString(p[i : end+1])
			i = end
			continue
		case '*':
			n := len(p[i:]) - len(strings.TrimLeft(p[i:], "*"))
			if n == 2 && (i == 0 || p[i-1] == '/') && (i+2 == len(p) || p[i+2] == '/') {
				b.WriteString("**")
			} else {
				b.WriteByte('*')
			}
			i += n - 1
			continue
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

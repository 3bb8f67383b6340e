package match

import "strings"

// verdict is the result of matching the rest of a pattern. A failure says how
// far up it is final, which keeps backtracking from exploding.
type verdict int

const (
	matched verdict = iota
	mismatched
	hopeless      // no later start of the text can match
	hopelessAtDir // only a "**" further up can still match
)

// wildmatch reports whether text matches a gitignore wildcard pattern
// (gitignore(5), PATTERN FORMAT). With pathname set, only "**" crosses slashes.
func wildmatch(pattern, text string, pathname bool) bool {
	return wild(pattern, 0, text, pathname) == matched
}

// wild matches pattern[p:].
func wild(pattern string, p int, text string, pathname bool) verdict {
	for ; p < len(pattern); p++ {
		c := pattern[p]
		if text == "" && c != '*' {
			return hopeless
		}
		switch c {
		case '\\':
			p++
			if p == len(pattern) || pattern[p] != text[0] {
				return mismatched
			}
			text = text[1:]
		case '?':
			if pathname && text[0] == '/' {
				return mismatched
			}
			text = text[1:]
		case '*':
			return star(pattern, p, text, pathname)
		case '[':
			end, ok, valid := class(pattern, p, text[0])
			if !valid {
				return hopeless
			}
			if !ok || pathname && text[0] == '/' {
				return mismatched
			}
			p, text = end, text[1:]
		default:
			if text[0] != c {
				return mismatched
			}
			text = text[1:]
		}
	}
	if text != "" {
		return mismatched
	}
	return matched
}

// star matches from a run of asterisks at pattern[p].
func star(pattern string, p int, text string, pathname bool) verdict {
	first := p
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	crosses := !pathname
	if pathname && p-first > 1 {
		atStart := first == 0 || pattern[first-1] == '/'
		atEnd := p == len(pattern) || pattern[p] == '/' || strings.HasPrefix(pattern[p:], `\/`)
		if atStart && atEnd {
			crosses = true
			// "**/" also matches no folder at all.
			if p < len(pattern) && pattern[p] == '/' && wild(pattern, p+1, text, pathname) == matched {
				return matched
			}
		}
	}
	if p == len(pattern) {
		if !crosses && strings.Contains(text, "/") {
			return hopelessAtDir
		}
		return matched
	}
	if !crosses && pattern[p] == '/' {
		i := strings.IndexByte(text, '/')
		if i < 0 {
			return hopeless
		}
		return wild(pattern, p+1, text[i+1:], pathname)
	}
	for ; text != ""; text = text[1:] {
		switch v := wild(pattern, p, text, pathname); {
		case v == mismatched:
			if !crosses && text[0] == '/' {
				return hopelessAtDir
			}
		case !crosses || v != hopelessAtDir:
			return v
		}
	}
	return hopeless
}

// class matches c against the bracket expression at pattern[p], and returns the
// index of its closing bracket.
func class(pattern string, p int, c byte) (end int, ok, valid bool) {
	at := func(i int) byte {
		if i < len(pattern) {
			return pattern[i]
		}
		return 0
	}
	p++
	negated := at(p) == '!' || at(p) == '^'
	if negated {
		p++
	}
	var previous byte
	for first := true; first || at(p) != ']'; first = false {
		b := at(p)
		switch {
		case b == 0:
			return 0, false, false
		case b == '\\':
			p++
			if b = at(p); b == 0 {
				return 0, false, false
			}
			ok = ok || c == b
		case b == '-' && previous != 0 && at(p+1) != 0 && at(p+1) != ']':
			p++
			if b = at(p); b == '\\' {
				p++
				if b = at(p); b == 0 {
					return 0, false, false
				}
			}
			ok = ok || previous <= c && c <= b
			b = 0
		case b == '[' && at(p+1) == ':':
			close := strings.IndexByte(pattern[p+2:], ']')
			if close < 0 {
				return 0, false, false
			}
			name := pattern[p+2 : p+2+close]
			if !strings.HasSuffix(name, ":") {
				ok = ok || c == '['
				break
			}
			in, known := posixClass(strings.TrimSuffix(name, ":"), c)
			if !known {
				return 0, false, false
			}
			ok = ok || in
			p += 2 + close
			b = 0
		default:
			ok = ok || c == b
		}
		previous = b
		p++
	}
	return p, ok != negated, true
}

func posixClass(name string, c byte) (in, known bool) {
	lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
	graph := c > 0x20 && c < 0x7f
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < 0x20 || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lower, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r', true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F', true
	}
	return false, false
}

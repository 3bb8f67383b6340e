package match

import (
	"strings"
)

// rule is one line of an ignore file.
type rule struct {
	pattern  string
	literal  int // leading bytes without a wildcard
	negated  bool
	dirOnly  bool
	anchored bool // matches the path from the rule's folder, not the base name
}

// parseRules reads an ignore file (gitignore(5)).
func parseRules(data []byte) []rule {
	text := strings.TrimPrefix(string(data), "\uFEFF")
	var rules []rule
	for line := range strings.SplitSeq(text, "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseRule(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	line = trimSpaces(line)
	var r rule
	if strings.HasPrefix(line, "!") {
		r.negated, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, line[:len(line)-1]
	}
	if line == "" {
		return rule{}, false
	}
	r.anchored = strings.Contains(line, "/")
	r.pattern = strings.TrimPrefix(line, "/")
	if r.literal = strings.IndexAny(r.pattern, `*?[\`); r.literal < 0 {
		r.literal = len(r.pattern)
	}
	return r, true
}

// trimSpaces removes trailing spaces that no backslash protects.
func trimSpaces(line string) string {
	end := len(line)
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
			end = min(i+1, len(line))
		case ' ':
		default:
			end = i + 1
		}
	}
	return line[:end]
}

// matches reports whether the rule speaks of the entry with that path below the
// rule's folder.
func (r rule) matches(rel string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if !r.anchored {
		base := rel[strings.LastIndexByte(rel, '/')+1:]
		if r.literal == len(r.pattern) {
			return base == r.pattern
		}
		return wildmatch(r.pattern, base, false)
	}
	// The part without wildcards is compared first; what follows is a pattern of
	// its own, so that a "**" behind it counts as standing at the start.
	if !strings.HasPrefix(rel, r.pattern[:r.literal]) {
		return false
	}
	rest, pattern := rel[r.literal:], r.pattern[r.literal:]
	if pattern == "" {
		return rest == ""
	}
	return wildmatch(pattern, rest, true)
}

// ruleSet is the ignore rules that hold in a folder: its own, then those of the
// folders above it.
type ruleSet struct {
	dir   string // absolute, of the rules
	rules []rule
	above *ruleSet
}

// ignored decides on the entry at that absolute path: the last rule of the
// nearest file that speaks of it wins.
func (s *ruleSet) ignored(path string, isDir bool) bool {
	for ; s != nil; s = s.above {
		rel := strings.TrimPrefix(path[len(s.dir):], "/")
		for i := len(s.rules) - 1; i >= 0; i-- {
			if s.rules[i].matches(rel, isDir) {
				return !s.rules[i].negated
			}
		}
	}
	return false
}

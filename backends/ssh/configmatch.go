package ssh

import (
	"errors"
	"fmt"
	"strings"
)

// matchHost reports whether a Host line with these patterns is about the host. A
// pattern after "!" that fits excludes it, whatever else fits.
func (r *configReader) matchHost(rest string) (bool, error) {
	patterns, err := arguments(rest)
	if err != nil {
		return false, err
	}
	return fitsAny(r.host, patterns), nil
}

// match reports whether all criteria of a Match line hold. One that can't be
// evaluated is an error where it decides.
func (r *configReader) match(rest string) (bool, error) {
	words, err := arguments(rest)
	if err != nil {
		return false, err
	}
	if len(words) == 0 {
		return false, errors.New("match has no criterion")
	}
	all, unknown, others := true, "", 0
	for len(words) > 0 {
		name, value, hasValue := strings.Cut(words[0], "=")
		words = words[1:]
		name, negated := strings.CutPrefix(strings.ToLower(name), "!")
		holds := false
		switch name {
		case "all":
			if others > 0 || len(words) > 0 {
				return false, errors.New("match all goes with no other criterion")
			}
			holds = true
		case "final", "canonical":
			r.askedFinal = r.askedFinal || name == "final" && !r.final
			holds = r.final
		default:
			others++
			if !hasValue {
				if len(words) == 0 {
					return false, fmt.Errorf("match %s has no value", name)
				}
				value, words = words[0], words[1:]
			}
			subject, known := r.subject(name)
			if !known {
				unknown = name
				continue
			}
			if strings.HasSuffix(name, "host") {
				value = strings.ToLower(value)
			}
			holds = fitsAny(subject, strings.Split(value, ","))
		}
		all = all && holds != negated
	}
	if all && unknown != "" {
		return false, fmt.Errorf("match %s is not supported", unknown)
	}
	return all, nil
}

// subject is what a criterion of Match looks at.
func (r *configReader) subject(criterion string) (name string, known bool) {
	switch criterion {
	case "host":
		return r.hostName(), true
	case "originalhost":
		return r.given, true
	case "user":
		if name = r.settings.first("user"); name == "" {
			name = r.localUser
		}
		return name, true
	case "localuser":
		return r.localUser, true
	}
	return "", false
}

// fitsAny reports whether a name fits one of the patterns and none that is negated.
func fitsAny(name string, patterns []string) bool {
	found := false
	for _, p := range patterns {
		p, negated := strings.CutPrefix(p, "!")
		if !fits(name, p) {
			continue
		}
		if negated {
			return false
		}
		found = true
	}
	return found
}

// fits reports whether a name fits a pattern, in which "*" stands for any bytes and
// "?" for one. Case counts.
func fits(name, pattern string) bool {
	i, p := 0, 0
	star, from := -1, 0 // the last "*", and where its bytes end
	for i < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[i]):
			i, p = i+1, p+1
		case star >= 0:
			from++
			i, p = from, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

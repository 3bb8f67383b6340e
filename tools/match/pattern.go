package match

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

// errLineFeed is the cause of a pattern that asks for a line feed.
var errLineFeed = errors.New("a line feed can't match, since lines are searched one by one")

// pattern is a compiled request. It is immutable; each worker derives its own
// matcher from it.
type pattern struct {
	prog   *syntax.Prog
	runes  *runeClasses
	needle needle // occurs in every match; empty if there is none
	whole  bool   // the pattern is the needle and nothing else
	source string // of the normalised expression
}

// compile parses the pattern of a request. The dialect is that of package
// regexp, with these rules of a search by lines:
//
//   - ^ and $, \A and \z stand for the bounds of a line;
//   - $ also matches before the carriage return that ends a line, and takes it;
//   - nothing matches a line feed, negated classes and (?s:.) included.
func compile(req SearchRequest) (*pattern, error) {
	text := req.Pattern
	if req.Literal {
		text = regexp.QuoteMeta(text)
	}
	flags := syntax.Perl &^ syntax.OneLine
	if req.IgnoreCase {
		flags |= syntax.FoldCase
	}
	bad := func(err error) error { return &PatternError{Kind: "pattern", Pattern: req.Pattern, Err: err} }
	re, err := syntax.Parse(text, flags)
	if err != nil {
		return nil, bad(err)
	}
	if re, err = byLine(re); err != nil {
		return nil, bad(err)
	}
	re = re.Simplify()
	prog, err := syntax.Compile(re)
	if err != nil {
		return nil, bad(err)
	}
	p := &pattern{prog: prog, runes: newRuneClasses(prog), source: re.String()}
	p.needle, p.whole = requiredNeedle(re)
	return p, nil
}

// byLine rewrites an expression in place so that no match crosses a line feed.
func byLine(re *syntax.Regexp) (*syntax.Regexp, error) {
	for i, sub := range re.Sub {
		sub, err := byLine(sub)
		if err != nil {
			return nil, err
		}
		re.Sub[i] = sub
	}
	switch re.Op {
	case syntax.OpLiteral:
		if strings.ContainsRune(string(re.Rune), '\n') {
			return nil, errLineFeed
		}
	case syntax.OpCharClass:
		re.Rune = withoutLineFeed(re.Rune)
		if len(re.Rune) == 0 {
			return &syntax.Regexp{Op: syntax.OpNoMatch}, nil
		}
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		if re.Flags&syntax.WasDollar == 0 {
			re.Op = syntax.OpEndLine
			break
		}
		return lineEnd(), nil
	case syntax.OpEndLine:
		return lineEnd(), nil
	default:
	}
	return re, nil
}

// lineEnd is what $ means: \r?$.
func lineEnd() *syntax.Regexp {
	cr := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'\r'}}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{
		{Op: syntax.OpQuest, Sub: []*syntax.Regexp{cr}},
		{Op: syntax.OpEndLine},
	}}
}

// withoutLineFeed removes the line feed from the ranges of a class.
func withoutLineFeed(ranges []rune) []rune {
	out := make([]rune, 0, len(ranges)+2)
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if lo > '\n' || hi < '\n' {
			out = append(out, lo, hi)
			continue
		}
		if lo < '\n' {
			out = append(out, lo, '\n'-1)
		}
		if hi > '\n' {
			out = append(out, '\n'+1, hi)
		}
	}
	return out
}

package match

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// pattern finds the matching lines of a block of text.
type pattern struct {
	line     *regexp.Regexp // matches within one line
	block    *regexp.Regexp // finds candidates in many lines; nil if it can't
	literal  []byte         // occurs in every match; nil if there is none
	isString bool           // the pattern is the literal and nothing else
}

func compile(req SearchRequest) (*pattern, error) {
	text := req.Pattern
	if req.Literal {
		text = regexp.QuoteMeta(text)
	}
	flags := "(?m:"
	if req.IgnoreCase {
		flags = "(?mi:"
	}
	if _, err := syntax.Parse(text, syntax.Perl); err != nil {
		return nil, &PatternError{Kind: "pattern", Pattern: req.Pattern, Err: err}
	}
	parsed, err := syntax.Parse(flags+text+")", syntax.Perl)
	if err != nil {
		return nil, &PatternError{Kind: "pattern", Pattern: req.Pattern, Err: err}
	}
	parsed = parsed.Simplify()
	re, err := regexp.Compile(flags + text + ")")
	if err != nil {
		return nil, &PatternError{Kind: "pattern", Pattern: req.Pattern, Err: err}
	}
	p := &pattern{line: re}
	if !anchorsText(parsed) {
		p.block = re
	}
	if lit := required(parsed); lit != "" && utf8.ValidString(lit) {
		p.literal = []byte(lit)
		p.isString = parsed.Op == syntax.OpLiteral && parsed.Flags&syntax.FoldCase == 0
	}
	return p, nil
}

// anchorsText reports whether \A or \z occur, which mean something else in a
// block of lines than in one line.
func anchorsText(re *syntax.Regexp) bool {
	if re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText {
		return true
	}
	for _, sub := range re.Sub {
		if anchorsText(sub) {
			return true
		}
	}
	return false
}

// required returns the longest text that occurs in every match.
func required(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if lit := required(sub); len(lit) > len(best) {
				best = lit
			}
		}
		return best
	default: // nothing is certain
	}
	return ""
}

// next returns the bounds of the first matching line in block at or after from,
// which is the start of a line, and where the match begins in it.
func (p *pattern) next(block []byte, from int) (start, end, at int, ok bool) {
	for from < len(block) {
		candidate := from
		switch {
		case p.literal != nil:
			i := bytes.Index(block[from:], p.literal)
			if i < 0 {
				return 0, 0, 0, false
			}
			candidate = from + i
		case p.block != nil:
			loc := p.block.FindIndex(block[from:])
			if loc == nil {
				return 0, 0, 0, false
			}
			candidate = from + loc[0]
			if candidate == len(block) {
				return 0, 0, 0, false // matches the nothing behind the last line feed
			}
		}
		start = bytes.LastIndexByte(block[:candidate], '\n') + 1
		end = len(block)
		if i := bytes.IndexByte(block[candidate:], '\n'); i >= 0 {
			end = candidate + i
		}
		if p.isString {
			return start, end, candidate - start, true
		}
		if loc := p.line.FindIndex(block[start:end]); loc != nil {
			return start, end, loc[0], true
		}
		from = end + 1
	}
	return 0, 0, 0, false
}

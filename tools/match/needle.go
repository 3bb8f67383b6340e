package match

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// needle is a text that can be searched for quickly. A letter whose case does
// not matter is there in lower case, with caseBit in its place of fold.
type needle struct {
	text []byte
	fold []byte
}

// caseBit is what an ASCII letter's cases differ in.
const caseBit = 0x20

func (n *needle) add(b, fold byte) {
	n.text = append(n.text, b|fold)
	n.fold = append(n.fold, fold)
}

// at reports whether the needle stands at the start of data.
func (n *needle) at(data []byte) bool {
	if len(data) < len(n.text) {
		return false
	}
	for i, c := range n.text {
		if data[i]|n.fold[i] != c {
			return false
		}
	}
	return true
}

// requiredNeedle returns the best needle that occurs in every match of a
// simplified expression, and whether the expression is that needle.
func requiredNeedle(re *syntax.Regexp) (best needle, whole bool) {
	c := needleCollector{whole: true, budget: maxNeedleVisits}
	c.visit(re)
	c.cut()
	return c.best, c.whole && len(c.best.text) > 0
}

// needleCollector gathers the runs of text that every match holds.
type needleCollector struct {
	run, best needle
	whole     bool // nothing but one run was met
	budget    int  // parts still to be visited
}

// maxNeedleVisits bounds the work; what a repetition holds is visited twice.
const maxNeedleVisits = 10_000

// visit adds what every match of re holds. Assertions take no room, so a run
// goes on over them.
func (c *needleCollector) visit(re *syntax.Regexp) {
	if c.budget--; c.budget < 0 {
		c.interrupt()
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			c.rune(r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCapture:
		c.visit(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			c.visit(sub)
		}
	case syntax.OpPlus:
		c.visit(re.Sub[0])
		c.interrupt()
		c.visit(re.Sub[0])
	case syntax.OpEmptyMatch:
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		c.whole = false
	default:
		c.interrupt()
	}
}

func (c *needleCollector) rune(r rune, fold bool) {
	other := unicode.SimpleFold(r)
	switch {
	case r == utf8.RuneError:
		c.interrupt() // stands for any invalid byte, too
	case !fold || other == r:
		var b [utf8.UTFMax]byte
		for _, x := range b[:utf8.EncodeRune(b[:], r)] {
			c.run.add(x, 0)
		}
	case r < utf8.RuneSelf && other < utf8.RuneSelf && unicode.SimpleFold(other) == r:
		c.run.add(byte(r), caseBit) //nolint:gosec // below utf8.RuneSelf
	default:
		c.interrupt() // more cases than two, or not of one byte
	}
}

// interrupt notes that something stands here that is no fixed text.
func (c *needleCollector) interrupt() {
	c.whole = false
	c.cut()
}

// cut ends a run, and keeps it if it is the best.
func (c *needleCollector) cut() {
	if n := len(c.run.text); n > len(c.best.text) || n > 0 && n == len(c.best.text) && rarest(c.run) < rarest(c.best) {
		c.best = c.run
	}
	c.run = needle{}
}

func rarest(n needle) int {
	best := 256
	for i, c := range n.text {
		best = min(best, commonness(c, n.fold[i] != 0))
	}
	return best
}

// commonness estimates how frequent a byte is in source text, per mille.
func commonness(c byte, fold bool) int {
	switch {
	case c >= utf8.RuneSelf:
		return 2
	case c == ' ':
		return 120
	case c >= 'a' && c <= 'z':
		n := int(letterFrequency[c-'a'])
		if fold {
			n += 4
		}
		return n
	case c >= 'A' && c <= 'Z':
		return 4
	case c >= '0' && c <= '9':
		return 8
	case c == '\t', c == '_', c == '.', c == ',', c == '(', c == ')', c == '=', c == '-', c == '/', c == '"':
		return 15
	case c < ' ':
		return 1
	}
	return 5
}

// letterFrequency is by letter, per mille of source text.
const letterFrequency = "\x2d\x0b\x1d\x1a\x4f\x12\x0d\x11\x31\x02\x05\x1c\x12\x2f\x29\x13\x02\x2f\x26\x3d\x15\x08\x06\x08\x09\x02"

package match

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// lineEndClass is the class of the line feed and of the end of a file.
const lineEndClass = 0

// maxClassWork bounds the work of joining classes.
const maxClassWork = 4 << 20

// runeClasses divides all runes into classes that no instruction of a program
// tells apart, so that the table of an automaton has few columns.
type runeClasses struct {
	ascii  [utf8.RuneSelf]int
	starts []rune // first rune of each interval, ascending, from 0
	ids    []int  // class of each interval
	count  int
	sample []rune // one rune of each class
	word   []bool // by class: a character of \w
}

func newRuneClasses(prog *syntax.Prog) *runeClasses {
	starts, sets := boundaries(prog)
	c := &runeClasses{starts: starts, ids: make([]int, len(starts)), count: 1, sample: []rune{'\n'}, word: []bool{false}}
	known := map[string]int{}
	key := make([]byte, len(sets)+1) // which sets hold a rune, and whether it is of \w
	join := len(sets)*len(starts) <= maxClassWork
	for i, r := range starts {
		if r == '\n' {
			continue // lineEndClass
		}
		key[len(sets)] = 0
		if syntax.IsWordChar(r) {
			key[len(sets)] = 1
		}
		if join {
			for k, inst := range sets {
				key[k] = 0
				if inst.MatchRune(r) {
					key[k] = 1
				}
			}
			if id, ok := known[string(key)]; ok {
				c.ids[i] = id
				continue
			}
			known[string(key)] = c.count
		}
		c.ids[i] = c.count
		c.sample = append(c.sample, r)
		c.word = append(c.word, syntax.IsWordChar(r))
		c.count++
	}
	for b := range c.ascii {
		c.ascii[b] = c.of(rune(b))
	}
	return c
}

// of returns the class of a rune.
func (c *runeClasses) of(r rune) int {
	i, ok := slices.BinarySearch(c.starts, r)
	if !ok {
		i--
	}
	return c.ids[i]
}

// boundaries lists the runes where a set of the program begins or has ended,
// and one instruction for each distinct set.
func boundaries(prog *syntax.Prog) ([]rune, []*syntax.Inst) {
	cuts := []rune{0, '\n', '\n' + 1}
	var sets []*syntax.Inst
	seen := map[string]bool{}
	add := func(lo, hi rune) {
		cuts = append(cuts, lo)
		if hi < unicode.MaxRune {
			cuts = append(cuts, hi+1)
		}
	}
	for i := range prog.Inst {
		inst := &prog.Inst[i]
		switch inst.Op {
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 { //nolint:gosec // the compiler put a value of that type there
				add('0', '9')
				add('A', 'Z')
				add('_', '_')
				add('a', 'z')
			}
			continue
		case syntax.InstRune, syntax.InstRune1:
		default:
			continue
		}
		key := runesKey(inst.Rune)
		if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 { //nolint:gosec // the compiler put a value of that type there
			key += "\x00i"
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		sets = append(sets, inst)
		if len(inst.Rune) == 1 {
			first := inst.Rune[0]
			add(first, first)
			if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 { //nolint:gosec // the compiler put a value of that type there
				for r := unicode.SimpleFold(first); r != first; r = unicode.SimpleFold(r) {
					add(r, r)
				}
			}
			continue
		}
		for k := 0; k+1 < len(inst.Rune); k += 2 {
			add(inst.Rune[k], inst.Rune[k+1])
		}
	}
	slices.Sort(cuts)
	return slices.Compact(cuts), sets
}

// runesKey identifies a list of runes; it tells surrogates apart.
func runesKey(runes []rune) string {
	b := make([]byte, 0, 4*len(runes))
	for _, r := range runes {
		b = append(b, byte(r>>16), byte(r>>8), byte(r), ',') //nolint:gosec // the bytes of a number
	}
	return string(b)
}

package match

import (
	"bytes"
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// maxCells bounds the memory of an automaton, in words of four bytes. A full one
// is emptied and filled anew, which costs time but never correctness.
const maxCells = 1 << 20

// Rows of the table that are no states.
const (
	rowUnknown = iota // not computed yet
	rowMatched
	rowDead // no match is possible before the line ends
	rowCount
)

// dfa decides whether a line holds a match, in one pass without going back: it
// is the lazily built deterministic automaton of a program. A match is seen
// where it ends, or one character later. It is not safe for concurrent use.
type dfa struct {
	prog    *syntax.Prog
	classes *runeClasses
	stride  int
	ascii   [256]uint32 // class of a byte; the last column is for the bytes of longer characters
	table   []uint32    // next row times stride, by row and class
	states  []state     // by row
	index   map[string]uint32
	cells   int    // in use by table and states
	begin   uint32 // row times stride of the start of a line; rowUnknown after emptying
	hasWord bool

	// Scratch of the computation of a state.
	queue, leaves, stack []uint32
	seen                 []uint32 // by instruction: the round in which it was met
	round                uint32
	key                  []byte
}

// state is where a program can be. It begins a new match at every character.
type state struct {
	leaves []uint32 // rune instructions, and assertions that are not decided yet
	begin  bool     // at the start of a line
	word   bool     // behind a character of \w
}

func newDFA(p *pattern) *dfa {
	d := &dfa{prog: p.prog, classes: p.runes, stride: p.runes.count, seen: make([]uint32, len(p.prog.Inst))}
	for b := range d.ascii {
		d.ascii[b] = uint32(d.stride) //nolint:gosec // small
		if b < utf8.RuneSelf {
			d.ascii[b] = uint32(p.runes.ascii[b]) //nolint:gosec // small
		}
	}
	d.stride++ // the last column is never filled, so that it leads out of the fast loop
	for i := range p.prog.Inst {
		inst := &p.prog.Inst[i]
		if inst.Op == syntax.InstEmptyWidth && syntax.EmptyOp(inst.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 { //nolint:gosec // the compiler put a value of that type there
			d.hasWord = true
		}
	}
	d.empty()
	return d
}

// empty forgets all states.
func (d *dfa) empty() {
	d.table = append(d.table[:0], make([]uint32, rowCount*d.stride)...)
	d.states = append(d.states[:0], make([]state, rowCount)...)
	d.index = map[string]uint32{}
	d.cells = 0
	d.begin = d.start()
}

// start returns the state at the start of a line.
func (d *dfa) start() uint32 {
	d.round++
	d.queue = append(d.queue[:0], uint32(d.prog.Start)) //nolint:gosec // an index
	return d.intern(true, false)
}

// intern returns the row, times stride, of the state whose instructions are
// reached from those in the queue without a character.
func (d *dfa) intern(begin, word bool) uint32 {
	if d.close(0, false) {
		return uint32(rowMatched * d.stride) //nolint:gosec // small
	}
	leaves := d.leaves[:0:len(d.leaves)]
	for _, pc := range d.leaves {
		inst := &d.prog.Inst[pc]
		if !begin && inst.Op == syntax.InstEmptyWidth && syntax.EmptyOp(inst.Arg)&syntax.EmptyBeginLine != 0 { //nolint:gosec // the compiler put a value of that type there
			continue // never true again in this line
		}
		leaves = append(leaves, pc)
	}
	if len(leaves) == 0 {
		return uint32(rowDead * d.stride) //nolint:gosec // small
	}
	slices.Sort(leaves)
	word = word && d.hasWord
	d.key = d.key[:0]
	for _, pc := range leaves {
		d.key = binary.AppendUvarint(d.key, uint64(pc))
	}
	d.key = append(d.key, 0x80, flag(begin)|flag(word)<<1) // no number ends in 0x80
	if row, ok := d.index[string(d.key)]; ok {
		return row
	}
	row := uint32(len(d.states) * d.stride) //nolint:gosec // bounded by maxCells
	d.index[string(d.key)] = row
	d.states = append(d.states, state{slices.Clone(leaves), begin, word})
	d.table = append(d.table, make([]uint32, d.stride)...)
	d.cells += d.stride + 2*len(leaves) + 32
	return row
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// close follows instructions that take no character from those in the queue
// and collects the others as leaves. With decide set, assertions are followed
// if given holds them; else they are leaves. It reports whether a match was
// reached.
func (d *dfa) close(given syntax.EmptyOp, decide bool) bool {
	d.leaves = d.leaves[:0]
	d.stack = d.stack[:0]
	for i := len(d.queue) - 1; i >= 0; i-- {
		d.stack = append(d.stack, d.queue[i])
	}
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.seen[pc] == d.round {
			continue
		}
		d.seen[pc] = d.round
		inst := &d.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstFail:
		case syntax.InstAlt, syntax.InstAltMatch:
			d.stack = append(d.stack, inst.Arg, inst.Out)
		case syntax.InstCapture, syntax.InstNop:
			d.stack = append(d.stack, inst.Out)
		case syntax.InstEmptyWidth:
			switch {
			case !decide:
				d.leaves = append(d.leaves, pc)
			case syntax.EmptyOp(inst.Arg)&^given == 0: //nolint:gosec // the compiler put a value of that type there
				d.stack = append(d.stack, inst.Out)
			}
		default:
			d.leaves = append(d.leaves, pc)
		}
	}
	return false
}

// step computes the row behind row on a character of that class, and keeps it
// in the table. The line ends at lineEndClass.
func (d *dfa) step(row uint32, class int) uint32 {
	if d.cells > maxCells {
		s := d.states[row/uint32(d.stride)] //nolint:gosec // small
		d.empty()
		d.round++
		d.queue = append(d.queue[:0], s.leaves...)
		row = d.intern(s.begin, s.word)
	}
	next := d.next(d.states[row/uint32(d.stride)], class) //nolint:gosec // small
	d.table[int(row)+class] = next
	return next
}

func (d *dfa) next(s state, class int) uint32 {
	var given syntax.EmptyOp
	if s.begin {
		given |= syntax.EmptyBeginLine
	}
	if class == lineEndClass {
		given |= syntax.EmptyEndLine
	}
	word := d.classes.word[class]
	if s.word != word {
		given |= syntax.EmptyWordBoundary
	} else {
		given |= syntax.EmptyNoWordBoundary
	}
	d.round++
	d.queue = append(d.queue[:0], s.leaves...)
	if d.close(given, true) {
		return uint32(rowMatched * d.stride) //nolint:gosec // small
	}
	if class == lineEndClass {
		return d.begin
	}
	r := d.classes.sample[class]
	d.queue = append(d.queue[:0], uint32(d.prog.Start)) //nolint:gosec // an index
	for _, pc := range d.leaves {
		inst := &d.prog.Inst[pc]
		if inst.Op == syntax.InstRuneAny || inst.Op == syntax.InstRuneAnyNotNL || inst.MatchRune(r) {
			d.queue = append(d.queue, inst.Out)
		}
	}
	d.round++
	return d.intern(false, word)
}

// run searches data from row on. It returns the index of the character at which
// a match is certain (its end, or the character behind it, which may be a line
// feed), or -1 and the row that was reached.
func (d *dfa) run(row uint32, data []byte) (int, uint32) {
	matched, dead, stride := uint32(rowMatched*d.stride), uint32(rowDead*d.stride), uint32(d.stride) //nolint:gosec // small
	for i := 0; ; {
		// The table never leads back to a row that is no state, so this loop
		// is left where something is to be decided.
		table := d.table
		for i < len(data) {
			next := table[row+d.ascii[data[i]]]
			if next <= dead {
				break
			}
			row = next
			i++
		}
		if i >= len(data) {
			return -1, row
		}
		size, class := 1, 0
		if data[i] < utf8.RuneSelf {
			class = d.classes.ascii[data[i]]
		} else {
			var r rune
			r, size = utf8.DecodeRune(data[i:])
			class = d.classes.of(r)
		}
		next := table[row+uint32(class)] //nolint:gosec // small
		if next < stride {
			next = d.step(row, class)
		}
		switch next {
		case matched:
			return i, d.begin
		case dead:
			end := bytes.IndexByte(data[i+size:], '\n')
			if end < 0 {
				return -1, dead
			}
			row, i = d.begin, i+size+end+1
		default:
			row, i = next, i+size
		}
	}
}

// line reports whether the whole line matches, and the index of the character
// at which that is certain.
func (d *dfa) line(data []byte) (int, bool) {
	at, row := d.from(d.begin, data)
	if at >= 0 {
		return at, true
	}
	return len(data), d.ends(row)
}

// from is run for a part of a line that may have been decided before.
func (d *dfa) from(row uint32, data []byte) (int, uint32) {
	switch int(row) / d.stride {
	case rowMatched:
		return 0, row
	case rowDead:
		return -1, row
	}
	return d.run(row, data)
}

// ends reports whether a line that ends in row matches.
func (d *dfa) ends(row uint32) bool {
	switch int(row) / d.stride {
	case rowMatched:
		return true
	case rowDead:
		return false
	}
	next := d.table[int(row)+lineEndClass]
	if next < uint32(d.stride) { //nolint:gosec // small
		next = d.step(row, lineEndClass)
	}
	return int(next)/d.stride == rowMatched
}

package match

import "unicode/utf8"

// longLine is the search of one line that comes in pieces, each at the end of a
// buffer that begins with some text before it.
type longLine struct {
	dfa     *dfa
	row     uint32 // of the automaton
	done    int    // up to where the buffer was searched
	matched bool
	at      int // where in the buffer the match is, unless it is shown
	shown   bool
	text    string // the line around the match
}

// search goes on to the end of the data, which is that of the line if over is
// set.
func (l *longLine) search(data []byte, over bool) {
	stop := len(data)
	for k := 1; !over && k < utf8.UTFMax && k <= stop-l.done; k++ {
		if utf8.RuneStart(data[stop-k]) {
			if !utf8.FullRune(data[stop-k:]) {
				stop -= k // the rest of the character comes with the next piece
			}
			break
		}
	}
	if !l.matched {
		i, row := l.dfa.from(l.row, data[l.done:stop])
		l.row = row
		switch {
		case i >= 0:
			l.matched, l.at = true, l.done+i
		case over && l.dfa.ends(row):
			l.matched, l.at = true, stop
		}
	}
	l.done = stop
}

// keep moves what is still needed to the start of the buffer, and returns its
// length: the text before a match that is still to be shown, the surroundings
// of one that may come, and what was not searched.
func (l *longLine) keep(buf []byte) int {
	from := l.done
	switch {
	case l.shown:
	case l.matched:
		from = min(from, l.at-maxText*utf8.UTFMax/2)
	default:
		from -= maxText * utf8.UTFMax / 2
	}
	from = max(from, 0)
	l.done -= from
	l.at -= from
	return copy(buf, buf[from:])
}

package match

import "bytes"

// Bounds after which a needle that hardly leaves anything out is given up.
const (
	needleTrial = 256 // lines that held the needle and did not match
	needleWorth = 64  // bytes for each of them, at least
)

// matcher finds the matching lines of blocks of text. It is not safe for
// concurrent use.
type matcher struct {
	dfa    *dfa
	finder *finder // nil if every line must be looked at
	whole  bool    // the needle is the whole pattern
	failed int     // lines that held the needle and did not match
	passed int     // bytes up to the last of them
}

func newMatcher(p *pattern) *matcher {
	m := &matcher{dfa: newDFA(p), whole: p.whole}
	if len(p.needle.text) > 0 {
		m.finder = newFinder(p.needle)
	}
	return m
}

// next returns the bounds, without the line feed, of the first matching line in
// block at or after from, which is the start of a line, and a place inside the
// match or right behind it, relative to start.
func (m *matcher) next(block []byte, from int) (start, end, at int, ok bool) {
	if m.finder == nil {
		return m.scan(block, from)
	}
	for pos := from; pos < len(block); {
		i := m.finder.index(block, pos)
		if i < 0 {
			m.passed += len(block) - pos
			return 0, 0, 0, false
		}
		start, end = lineAround(block, from, i)
		if m.whole {
			return start, end, i - start + len(m.finder.text), true
		}
		if at, ok := m.dfa.line(block[start:end]); ok {
			return start, end, at, true
		}
		m.failed++
		m.passed += i - pos
		if m.failed > needleTrial && m.passed/m.failed < needleWorth {
			m.finder = nil
			return m.scan(block, end+1)
		}
		pos = end + 1
	}
	return 0, 0, 0, false
}

// scan is next without a needle.
func (m *matcher) scan(block []byte, from int) (start, end, at int, ok bool) {
	if from >= len(block) {
		return 0, 0, 0, false
	}
	pos, row := m.dfa.from(m.dfa.begin, block[from:])
	if pos < 0 {
		if block[len(block)-1] == '\n' || !m.dfa.ends(row) {
			return 0, 0, 0, false
		}
		pos = len(block) - from
	}
	start, end = lineAround(block, from, from+pos)
	return start, end, from + pos - start, true
}

// lineAround returns the bounds of the line that holds block[i], or ends there;
// from is the start of a line before.
func lineAround(block []byte, from, i int) (start, end int) {
	start = from + bytes.LastIndexByte(block[from:i], '\n') + 1
	end = len(block)
	if k := bytes.IndexByte(block[i:], '\n'); k >= 0 {
		end = i + k
	}
	return start, end
}

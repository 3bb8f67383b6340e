package match

import "bytes"

// heldLine is a line that may become context.
type heldLine struct {
	text string
	cut  bool
}

// heldLines are the last lines of blocks that have been searched.
type heldLines struct {
	lines []heldLine
	size  int
}

func (h *heldLines) clear() { h.lines, h.size = h.lines[:0], 0 }

// add keeps a line as one of at most limit.
func (h *heldLines) add(text string, cut bool, limit int) {
	h.lines = append(h.lines, heldLine{text, cut})
	h.size += len(text)
	drop := 0
	for len(h.lines)-drop > limit || h.size > maxBefore {
		h.size -= len(h.lines[drop].text)
		drop++
	}
	h.lines = h.lines[drop:]
}

// trailing emits the lines behind the last match, as far as they are wanted and
// hold no zero byte.
func (sc *scanner) trailing(data []byte) bool {
	for ; sc.trail > 0 && len(data) > 0; sc.trail-- {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		if bytes.IndexByte(line, 0) >= 0 {
			sc.trail = 0
			return true
		}
		if !sc.context(line, sc.last+1) {
			return false
		}
		data = rest
	}
	return true
}

// leading emits the wanted lines before a match, with which data ends;
// sc.number lines stand before the match.
func (sc *scanner) leading(data []byte) bool {
	want := min(sc.req.Context, sc.number-sc.last)
	if want <= 0 {
		return true
	}
	// The lines of data come last, those of the blocks before it first.
	from, have := len(data), 0
	for have < want && from > 0 {
		from = bytes.LastIndexByte(data[:from-1], '\n') + 1
		have++
	}
	held := sc.before.lines[max(0, len(sc.before.lines)-(want-have)):]
	number := sc.number - have - len(held)
	for _, l := range held {
		number++
		sc.last = number
		if !sc.emit(SearchLine{Line: number, Text: l.text, Cut: l.cut, Context: true}) {
			return false
		}
	}
	for data = data[from:]; len(data) > 0; {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		number++
		if !sc.context(line, number) {
			return false
		}
		data = rest
	}
	return true
}

func (sc *scanner) context(line []byte, number int) bool {
	text, cut := excerpt(line, 0, sc.req.MaxLine)
	sc.last = number
	return sc.emit(SearchLine{Line: number, Text: text, Cut: cut, Context: true})
}

// remember keeps the last lines of a block for the context of the next.
func (sc *scanner) remember(data []byte) {
	if sc.req.Context <= 0 {
		return
	}
	from := len(data)
	for n := 0; n < sc.req.Context && from > 0; n++ {
		from = bytes.LastIndexByte(data[:from-1], '\n') + 1
	}
	for data = data[from:]; len(data) > 0; {
		line, rest, _ := bytes.Cut(data, []byte{'\n'})
		text, cut := excerpt(line, 0, sc.req.MaxLine)
		sc.before.add(text, cut, sc.req.Context)
		data = rest
	}
}

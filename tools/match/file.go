package match

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// A file is binary if its head holds a zero byte, or if one stands before the end
// of a line that matches.
const (
	blockSize  = 128 << 10 // of a read; longer lines are searched in pieces
	binaryHead = 8 << 10   // of a file
	maxBefore  = 4 << 20   // bytes of lines that are kept for the context of a match to come
)

// errEnough ends the search of a file before its end.
var errEnough = errors.New("enough")

// scanner searches streams block by block. A block ends with a whole line. Its
// memory does not depend on the lengths of files and lines. It is reused for
// the files of a worker.
type scanner struct {
	req     SearchRequest
	matcher *matcher
	emit    func(SearchLine) bool // takes a line, without Path; false ends the file
	buf     []byte

	// Of the current file.
	number  int  // lines before the block
	last    int  // number of the last line that was emitted
	trail   int  // context lines still to come behind the last match
	matches int  // so far
	binary  bool // a zero byte was seen
	before  heldLines
}

func newScanner(p *pattern, req SearchRequest) *scanner {
	return &scanner{req: req, matcher: newMatcher(p), buf: make([]byte, blockSize)}
}

// scan searches one file and passes on at most one match more than the limit.
func (sc *scanner) scan(ctx context.Context, r io.Reader, emit func(SearchLine) bool) error {
	sc.emit, sc.number, sc.last, sc.trail, sc.matches, sc.binary = emit, 0, 0, 0, 0, false
	sc.before.clear()
	held, first := 0, true
	for {
		n, end, err := fill(ctx, r, sc.buf, held)
		if err != nil {
			return err
		}
		data := sc.buf[:n]
		if first {
			sc.binary, first = bytes.IndexByte(data[:min(n, binaryHead)], 0) >= 0, false
		}
		whole := n
		if !end {
			whole = bytes.LastIndexByte(data, '\n') + 1
		}
		if whole == 0 && !end {
			held, end, err = sc.long(ctx, r)
		} else {
			err = sc.block(data[:whole], end)
			held = copy(sc.buf, data[whole:])
		}
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil || end {
			return err
		}
	}
}

// fill reads until buf is full or the file ends; held bytes are there already.
func fill(ctx context.Context, r io.Reader, buf []byte, held int) (n int, end bool, err error) {
	idle := 0
	for held < len(buf) {
		if ctx.Err() != nil {
			return held, false, context.Cause(ctx)
		}
		n, err := r.Read(buf[held:])
		held += n
		if errors.Is(err, io.EOF) {
			return held, true, nil
		}
		if err != nil {
			return held, false, err
		}
		if n > 0 {
			idle = 0
		} else if idle++; idle > 100 {
			return held, false, io.ErrNoProgress
		}
	}
	return held, false, nil
}

// block searches whole lines; the last of a file may lack its line feed.
func (sc *scanner) block(data []byte, end bool) error {
	at, counted, checked := 0, 0, 0 // where to look on; up to where lines are counted, and zeros looked for
	for {
		start, stop, pos, ok := sc.matcher.next(data, at)
		if !ok {
			break
		}
		if !sc.trailing(data[at:start]) {
			return errEnough
		}
		sc.binary = sc.binary || bytes.IndexByte(data[checked:stop], 0) >= 0
		checked = stop
		sc.number += bytes.Count(data[counted:start], []byte{'\n'})
		counted = start
		if !sc.binary && !sc.leading(data[:start]) {
			return errEnough
		}
		text, cut := "", false
		if !sc.binary {
			text, cut = excerpt(data[start:stop], pos, sc.req.MaxLine)
		}
		if !sc.match(text, cut) {
			return errEnough
		}
		at = min(stop+1, len(data))
	}
	if !sc.trailing(data[at:]) {
		return errEnough
	}
	if end {
		return nil
	}
	sc.binary = sc.binary || bytes.IndexByte(data[checked:], 0) >= 0
	sc.remember(data)
	sc.number += bytes.Count(data[counted:], []byte{'\n'})
	return nil
}

// match emits the line behind sc.number as a match. It reports whether the
// search of the file goes on.
func (sc *scanner) match(text string, cut bool) bool {
	if sc.binary {
		sc.emit(SearchLine{Binary: true})
		return false
	}
	sc.last = sc.number + 1
	sc.trail = sc.req.Context
	sc.matches++
	return sc.emit(SearchLine{Line: sc.last, Text: text, Cut: cut}) && (sc.req.Limit <= 0 || sc.matches <= sc.req.Limit)
}

// long searches a line that fills the buffer and goes on. It returns what is
// held of the lines behind it, at the start of the buffer, and whether the file
// ends with the line.
func (sc *scanner) long(ctx context.Context, r io.Reader) (held int, end bool, err error) {
	head, _ := excerpt(sc.buf, 0, sc.req.MaxLine)
	line := longLine{dfa: sc.matcher.dfa, row: sc.matcher.dfa.begin}
	n := len(sc.buf)
	for {
		stop := bytes.IndexByte(sc.buf[line.done:n], '\n')
		over := stop >= 0 || end
		if stop < 0 {
			stop = n
		} else {
			stop += line.done
		}
		sc.binary = sc.binary || !line.matched && bytes.IndexByte(sc.buf[line.done:stop], 0) >= 0
		line.search(sc.buf[:stop], over)
		if line.matched && !line.shown && (over || line.at+maxText*4 <= stop) {
			line.text, _ = excerpt(sc.buf[:stop], line.at, sc.req.MaxLine)
			line.shown = true
		}
		if over {
			held = copy(sc.buf, sc.buf[min(stop+1, n):n])
			return held, end && held == 0, sc.longEnd(line, head)
		}
		n = line.keep(sc.buf[:n])
		if n, end, err = fill(ctx, r, sc.buf, n); err != nil {
			return 0, false, err
		}
	}
}

// longEnd emits what is to be shown of a long line, and counts it.
func (sc *scanner) longEnd(line longLine, head string) error {
	on := true
	switch {
	case line.matched:
		if !sc.binary {
			on = sc.leading(nil)
		}
		on = on && sc.match(line.text, true)
	case sc.trail > 0:
		sc.trail--
		sc.last = sc.number + 1
		on = sc.emit(SearchLine{Line: sc.last, Text: head, Context: true, Cut: true})
	case sc.req.Context > 0:
		sc.before.add(head, true, sc.req.Context)
	}
	sc.number++
	if !on {
		return errEnough
	}
	return nil
}

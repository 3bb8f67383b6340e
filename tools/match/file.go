package match

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"unicode/utf8"
)

const (
	blockSize  = 256 << 10
	maxHeld    = 16 << 20 // of one line; a longer one is searched in pieces
	binaryHead = 8 << 10
)

// findings is what one file gave.
type findings struct {
	lines []SearchLine // without Path
	err   error
}

// file searches one file. It keeps as many matches as the limit allows, and one
// more, by which the limit is known to have cut.
func (s *search) file(ctx context.Context, p string) findings {
	r, err := s.open(ctx, p)
	if err != nil {
		return findings{err: err}
	}
	sc := &scanner{pattern: s.pattern, req: s.req}
	err = sc.scan(ctx, r)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return findings{lines: sc.lines, err: err}
}

func (s *search) open(ctx context.Context, p string) (io.ReadCloser, error) {
	if o, ok := s.fsys.(Opener); ok {
		return o.Open(ctx, p)
	}
	data, err := s.fsys.ReadFile(ctx, p, 0)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// scanner searches a stream block by block. A block ends with a whole line.
type scanner struct {
	pattern *pattern
	req     SearchRequest

	lines   []SearchLine
	number  int // lines before the block
	matches int
	binary  bool
	trail   int      // context lines still to come behind the last match
	before  []string // the last lines of the blocks before, for context
	last    int      // number of the last line that was added
}

// buffers are reused between files; they hold nothing of a file afterwards but
// bytes that the next one overwrites.
var buffers = sync.Pool{New: func() any { b := make([]byte, blockSize); return &b }} //nolint:gochecknoglobals // a pool

func (sc *scanner) scan(ctx context.Context, r io.Reader) error {
	pooled, ok := buffers.Get().(*[]byte)
	if !ok {
		return errors.New("buffer pool holds something else")
	}
	buf := *pooled
	defer func() {
		if len(buf) == blockSize {
			buffers.Put(&buf)
		}
	}()
	held, first := 0, true
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := io.ReadFull(r, buf[held:])
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !end {
			return err
		}
		data := buf[:held+n]
		if first {
			sc.binary, first = bytes.IndexByte(data[:min(len(data), binaryHead)], 0) >= 0, false
		}
		whole := len(data)
		if !end {
			whole = bytes.LastIndexByte(data, '\n') + 1
			if whole == 0 && len(buf) < maxHeld {
				buf = append(make([]byte, 0, 2*len(buf)), data...)[:2*len(buf)]
				held = len(data)
				continue
			}
			if whole == 0 {
				whole = len(data) // a piece of an endless line
			}
		}
		if !sc.block(data[:whole]) || end {
			return nil
		}
		held = copy(buf, data[whole:])
	}
}

// block searches whole lines. It reports false when the file is done with.
func (sc *scanner) block(data []byte) bool {
	at, counted, checked := 0, 0, 0 // where to look on; up to where lines are counted, and zeros looked for
	for {
		start, end, pos, ok := sc.pattern.next(data, at)
		if !ok {
			break
		}
		sc.binary = sc.binary || bytes.IndexByte(data[checked:end], 0) >= 0
		checked = end
		if sc.binary {
			sc.lines = append(sc.lines, SearchLine{Binary: true})
			return false
		}
		sc.number += bytes.Count(data[counted:start], []byte{'\n'})
		counted = start
		sc.trailing(data, at, start)
		sc.leading(data, start)
		sc.add(data[start:end], sc.number+1, pos, false)
		sc.trail = sc.req.Context
		sc.matches++
		if sc.req.Limit > 0 && sc.matches > sc.req.Limit {
			return false
		}
		at = end + 1
		if at > len(data) {
			at = len(data)
		}
	}
	sc.trailing(data, at, len(data))
	sc.remember(data)
	sc.number += bytes.Count(data[counted:], []byte{'\n'})
	return true
}

// add keeps one line.
func (sc *scanner) add(line []byte, number, at int, context bool) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	text, cut := excerpt(line, min(at, len(line)), sc.req.MaxLine)
	sc.lines = append(sc.lines, SearchLine{Line: number, Text: text, Context: context, Cut: cut})
	sc.last = number
}

// trailing adds the lines behind the last match, from at, up to limit.
func (sc *scanner) trailing(data []byte, at, limit int) {
	for ; sc.trail > 0 && at < limit; sc.trail-- {
		end := limit
		if i := bytes.IndexByte(data[at:limit], '\n'); i >= 0 {
			end = at + i
		}
		sc.add(data[at:end], sc.last+1, 0, true)
		at = end + 1
	}
}

// leading adds the lines before a match that begins at start; sc.number lines
// stand before it.
func (sc *scanner) leading(data []byte, start int) {
	n := min(sc.req.Context, sc.number-sc.last)
	if n <= 0 {
		return
	}
	var lines [][]byte
	end := start
	for len(lines) < n && end > 0 {
		from := bytes.LastIndexByte(data[:end-1], '\n') + 1
		lines = append(lines, data[from:end-1])
		end = from
	}
	for i := len(sc.before) - 1; len(lines) < n && i >= 0; i-- {
		lines = append(lines, []byte(sc.before[i]))
	}
	for i := len(lines) - 1; i >= 0; i-- {
		sc.add(lines[i], sc.number-i, 0, true)
	}
}

// remember keeps the last lines of a block for the context of the next.
func (sc *scanner) remember(data []byte) {
	if sc.req.Context == 0 {
		return
	}
	var lines []string
	end := len(bytes.TrimSuffix(data, []byte{'\n'}))
	for len(lines) < sc.req.Context && end > 0 {
		from := bytes.LastIndexByte(data[:end], '\n') + 1
		lines = append([]string{string(data[from:min(end, from+4*max(sc.req.MaxLine, 1024))])}, lines...)
		end = from - 1
	}
	sc.before = append(sc.before, lines...)
	if extra := len(sc.before) - sc.req.Context; extra > 0 {
		sc.before = append([]string(nil), sc.before[extra:]...)
	}
}

// excerpt cuts a line to at most limit characters around at.
func excerpt(line []byte, at, limit int) (string, bool) {
	if limit <= 0 || len(line) <= limit || utf8.RuneCount(line[:min(len(line), 4*limit+1)]) <= limit && len(line) <= 4*limit {
		return string(line), false
	}
	start := at
	for back := limit / 4; back > 0 && start > 0; back-- {
		_, n := utf8.DecodeLastRune(line[:start])
		start -= n
	}
	end := start
	for count := 0; count < limit && end < len(line); count++ {
		_, n := utf8.DecodeRune(line[end:])
		end += n
	}
	for count := utf8.RuneCount(line[start:end]); count < limit && start > 0; count++ {
		_, n := utf8.DecodeLastRune(line[:start])
		start -= n
	}
	return string(line[start:end]), true
}

package fantasyllm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one line of a stream, which may hold a whole file (hazard
// PROV-06).
const maxLine = 32 << 20

var errLongLine = errors.New("one event of the stream is larger than 32 MB")

// lines is the body of a streamed answer, handed on line by line, so that no
// library meets half of one: what a stream ends within is dropped, and what is no
// JSON ends it. What the provider says is read on the way.
//
// A failure is kept in the exchange and ends the body like its proper end: one
// library writes failures to the log, and all of them wrap them.
type lines struct {
	source   io.ReadCloser
	exchange *exchange
	read     func(data []byte) []byte // reads the data of an event, and may replace it
	in       *bufio.Reader
	out      []byte
	ended    bool
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.out) == 0 {
		if l.ended {
			return 0, io.EOF
		}
		l.next()
	}
	n := copy(p, l.out)
	l.out = l.out[n:]
	return n, nil
}

// Close implements io.Closer.
func (l *lines) Close() error { return l.source.Close() }

// next makes out the next line that the library is to see.
func (l *lines) next() {
	if l.in == nil {
		l.in = bufio.NewReaderSize(beating{l.source, l.exchange}, 32<<10)
	}
	line, err := l.line()
	if err != nil {
		l.ended = true
		if !errors.Is(err, io.EOF) {
			l.exchange.err = err
		}
		return
	}
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	data = bytes.TrimSpace(data)
	switch {
	case !ok:
		// Google's library takes comments and names of events for errors.
		if l.exchange.options.Type != Google {
			l.out = line
		}
		return
	case len(data) == 0:
		return
	case string(data) == "[DONE]":
		// A sign of other wires, and the end of the answer on every one.
	case !json.Valid(data):
		l.ended = true
		l.exchange.err = fmt.Errorf("the stream holds an event that is no JSON: %s", excerpt(data))
		return
	default:
		data = l.read(data)
	}
	l.out = append(append([]byte("data: "), data...), '\n')
	if l.exchange.options.Type == Google {
		l.out = append(l.out, '\n') // it dropped the empty line, too
	}
}

// line reads a line with its end. A last one without is no line.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := l.in.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > maxLine:
			return nil, errLongLine
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// beating notes that bytes come.
type beating struct {
	io.Reader
	exchange *exchange
}

func (b beating) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n > 0 {
		b.exchange.beats.Store(true)
	}
	return n, err
}

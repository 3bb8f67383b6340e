package install

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// Bounds of what comes before the helper's first byte.
const (
	maxNoise = 1 << 20 // bytes that are no answer
	maxLine  = 4 << 10 // bytes of an answer that count
	maxFirst = 4 << 10 // bytes of noise that are kept
)

// errNoise reports more noise than is skipped.
var errNoise = errors.New("too much noise")

// answers finds the lines of the start script among what a login shell and its
// start-up files say. What comes after a line is left in the reader.
type answers struct {
	reader *bufio.Reader
	marker string
	begun  bool   // an answer has come
	noise  []byte // how what came before the first answer begins
	skip   int    // bytes that were no answer
}

func newAnswers(r io.Reader, m marker) *answers {
	return &answers{reader: bufio.NewReaderSize(r, 64<<10), marker: m.String()}
}

// next returns the next answer: its first word and the rest.
func (a *answers) next() (verb, rest string, err error) {
	if err := a.seek(); err != nil {
		return "", "", err
	}
	a.begun = true
	line, err := a.line()
	verb, rest, _ = strings.Cut(strings.TrimSpace(line), " ")
	return verb, rest, err
}

// seek reads up to the end of the marker.
func (a *answers) seek() error {
	last := a.marker[len(a.marker)-1]
	var window []byte
	for a.skip < maxNoise {
		c, err := a.reader.ReadByte()
		if err != nil {
			return err
		}
		a.skip++
		if !a.begun && len(a.noise) < maxFirst {
			a.noise = append(a.noise, c)
		}
		if len(window) == 2*len(a.marker) { // keep what may be a marker's beginning
			window = append(window[:0], window[len(a.marker):]...)
		}
		window = append(window, c)
		if c == last && strings.HasSuffix(string(window), a.marker) {
			return nil
		}
	}
	return errNoise
}

// line reads the rest of an answer.
func (a *answers) line() (string, error) {
	var b []byte
	for a.skip < maxNoise {
		c, err := a.reader.ReadByte()
		if err != nil {
			return "", err
		}
		if c == '\n' {
			return string(b), nil
		}
		if a.skip++; len(b) < maxLine {
			b = append(b, c)
		}
	}
	return "", errNoise
}

// firstLine is the first line of the noise that says something.
func (a *answers) firstLine() string {
	for line := range strings.Lines(string(a.noise)) {
		if text := plain(line); text != "" {
			return text
		}
	}
	return ""
}

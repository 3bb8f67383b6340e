package textout

import "unicode/utf8"

// maxSequence bounds a control sequence, in bytes. What is longer was never one:
// its introducer is dropped and the rest is text.
const maxSequence = 64 << 10

// cleaner decodes a byte stream to valid UTF-8 without control sequences and
// control characters, in pieces of any size; the result does not depend on how
// the stream was cut. "\n", "\t", "\r" and "\b" pass. Sequences are those of
// ECMA-48 sections 5.3 to 5.6.
type cleaner struct {
	held   []byte // a rune or a sequence that is not complete yet
	state  state  // what held is; ground if held is empty
	intro  int    // length of the introducer in held
	string byte   // the kind of a control string: the final byte of its introducer
}

type state byte

const (
	ground   state = iota
	inRune         // held is the start of a rune
	inEscape       // ESC and intermediate bytes
	inCSI          // parameters and intermediate bytes of a control sequence
	inString       // OSC, DCS, APC, PM or SOS
	inEnd          // a control string and the first byte of a C1 control
)

const (
	esc = 0x1b
	bel = 0x07
	can = 0x18
	sub = 0x1a
	c1  = 0xc2 // the first byte of a C1 control in UTF-8
)

// append decodes p onto dst. With last set the stream ends: what is not
// complete is given out as it stands.
func (c *cleaner) append(dst, p []byte, last bool) []byte {
	for len(p) > 0 {
		if c.state != ground {
			dst, p = c.resume(dst, p)
			continue
		}
		if n := passing(p); n > 0 {
			dst, p = append(dst, p[:n]...), p[n:]
			continue
		}
		r, n := utf8.DecodeRune(p)
		switch {
		case r == esc:
			c.begin(inEscape, p[:n])
		case r == utf8.RuneError && n == 1 && !utf8.FullRune(p):
			c.begin(inRune, p)
			p = nil
			continue
		case r == utf8.RuneError && n == 1:
			dst = append(dst, "\uFFFD"...)
		case r >= 0x80 && r < 0xa0:
			c.introduce(p[:n], byte(r)-0x40) // C1 is ESC and the byte 0x40 below
		case !isControl(r):
			dst = append(dst, p[:n]...)
		}
		p = p[n:]
	}
	for last && c.state != ground {
		dst = c.giveUp(dst)
	}
	return dst
}

// passing counts the leading bytes that are text as they stand.
func passing(p []byte) int {
	for i := 0; i < len(p); {
		b := p[i]
		switch {
		case b >= 0x20 && b < 0x7f, b == '\n', b == '\t', b == '\r', b == '\b':
			i++
			continue
		case b <= c1: // also an invalid byte
			return i
		}
		r, n := utf8.DecodeRune(p[i:])
		if n == 1 || isDirection(r) {
			return i
		}
		i += n
	}
	return len(p)
}

func (c *cleaner) begin(s state, p []byte) {
	c.state, c.intro = s, len(p)
	c.held = append(c.held[:0], p...)
}

// introduce starts the sequence of a C1 control, if it has one.
func (c *cleaner) introduce(p []byte, kind byte) {
	switch kind {
	case '[':
		c.begin(inCSI, p)
	case ']', 'P', '_', '^', 'X':
		c.begin(inString, p)
		c.string = kind
	default:
		c.end()
	}
}

func (c *cleaner) end() {
	c.state, c.held = ground, c.held[:0]
}

// giveUp gives out what is held as text, without its introducer. Neither ESC nor
// a C1 control is left in it; the start of a rune may be, and is held again.
func (c *cleaner) giveUp(dst []byte) []byte {
	if c.state == inRune {
		for range c.held {
			dst = append(dst, "\uFFFD"...)
		}
		c.end()
		return dst
	}
	rest := c.held[c.intro:]
	c.state, c.held = ground, nil
	return c.append(dst, rest, false)
}

// resume takes as much of p as belongs to what is held.
func (c *cleaner) resume(dst, p []byte) ([]byte, []byte) {
	switch c.state {
	case inRune:
		return c.resumeRune(dst, p)
	case inEnd:
		// Only a C1 control ends a control string; ST is one.
		if b := p[0]; b >= 0x80 && b < 0xa0 {
			intro := []byte{c1, b}
			c.end()
			c.introduce(intro, b-0x40)
			return dst, p[1:]
		}
		c.state = inString
	case ground, inEscape, inCSI, inString:
	}
	for i, b := range p {
		switch c.step(b) {
		case taken:
			c.held = append(c.held, b)
			if len(c.held) > maxSequence {
				return c.giveUp(dst), p[i+1:]
			}
			if c.state == inEnd {
				return dst, p[i+1:]
			}
		case complete:
			c.end()
			return dst, p[i+1:]
		case broken:
			c.end()
			return dst, p[i:]
		case noSequence:
			return c.giveUp(dst), p[i:]
		}
	}
	return dst, nil
}

func (c *cleaner) resumeRune(dst, p []byte) ([]byte, []byte) {
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], c.held)
	m := copy(buf[n:], p)
	r, size := utf8.DecodeRune(buf[:n+m])
	switch {
	case r != utf8.RuneError || size > 1:
		c.end()
		return c.append(dst, buf[:size], false), p[size-n:]
	case !utf8.FullRune(buf[:n+m]):
		c.held = append(c.held, p...)
		return dst, nil
	}
	// The first byte is invalid; the others may be text or not.
	rest := append(buf[1:n:n], p...)
	c.end()
	return append(dst, "\uFFFD"...), rest
}

// verdict says what a byte is to the sequence that is held.
type verdict byte

const (
	taken      verdict = iota // it belongs to it
	complete                  // it is its last byte
	broken                    // the sequence ends before it
	noSequence                // what is held was no sequence
)

func (c *cleaner) step(b byte) verdict {
	switch c.state {
	case inEscape:
		switch {
		case len(c.held) == 1 && b == '[':
			c.state, c.intro = inCSI, 1
			return taken
		case len(c.held) == 1 && (b == ']' || b == 'P' || b == '_' || b == '^' || b == 'X'):
			c.state, c.string = inString, b
			return taken
		case b >= 0x20 && b <= 0x2f:
			return taken
		case b >= 0x30 && b <= 0x7e:
			return complete
		}
		return broken
	case inCSI:
		switch {
		case b >= 0x20 && b <= 0x3f:
			return taken
		case b >= 0x40 && b <= 0x7e, b == can, b == sub:
			return complete
		}
		return broken
	default:
		switch {
		case b == bel, b == can, b == sub:
			return complete
		case b == esc:
			return broken // ESC \ ends it, and so does any other escape
		case b == c1:
			c.state = inEnd
		case b == '\n' && c.string != 'P':
			return noSequence // only device control strings have lines
		}
		return taken
	}
}

func isControl(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	}
	return isDirection(r)
}

// isDirection reports whether r changes the direction of text.
func isDirection(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

package textout

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
)

// decodeReference is the plain form of cleaner: the whole output at once, rune
// by rune. It knows no bound on the length of a sequence.
func decodeReference(raw string) string {
	var runes []rune
	for _, r := range raw {
		runes = append(runes, r) // an invalid byte is U+FFFD
	}
	var out []rune
	for i := 0; i < len(runes); {
		end, text := sequenceReference(runes, i)
		if end > i {
			out = append(out, text...)
			i = end
			continue
		}
		if r := runes[i]; r == '\r' || r == '\b' || !isControl(r) {
			out = append(out, r)
		}
		i++
	}
	return string(out)
}

// sequenceReference returns where the sequence at i ends, or i if none is there,
// and the text that it turns out to be.
func sequenceReference(rs []rune, i int) (end int, text []rune) {
	kind, at := rune(0), i+1
	switch r := rs[i]; {
	case r == 0x1b && i+1 == len(rs):
		return i + 1, nil
	case r == 0x1b && strings.ContainsRune("[]P_^X", rs[i+1]):
		kind, at = rs[i+1], i+2
	case r == 0x1b:
		for at < len(rs) && rs[at] >= 0x20 && rs[at] <= 0x2f {
			at++
		}
		switch {
		case at == len(rs):
			return at, rs[i+1:]
		case rs[at] >= 0x30 && rs[at] <= 0x7e:
			at++
		}
		return at, nil
	case r == 0x9b || r == 0x9d || r == 0x90 || r == 0x9f || r == 0x9e || r == 0x98:
		kind = r - 0x40
	default:
		return i, nil
	}
	if kind == '[' {
		for at < len(rs) && rs[at] >= 0x20 && rs[at] <= 0x3f {
			at++
		}
		switch {
		case at == len(rs):
			return at, rs[i+1:]
		case rs[at] >= 0x40 && rs[at] <= 0x7e, rs[at] == 0x18, rs[at] == 0x1a:
			at++
		}
		return at, nil
	}
	for ; at < len(rs); at++ {
		switch r := rs[at]; {
		case r == 7, r == 0x18, r == 0x1a, r == 0x9c:
			return at + 1, nil
		case r == 0x1b, r >= 0x80 && r < 0xa0:
			return at, nil
		case r == '\n' && kind != 'P':
			return at, decodedText(rs[i+1 : at])
		}
	}
	return at, decodedText(rs[i+1:])
}

func decodedText(rs []rune) []rune {
	return slices.DeleteFunc(slices.Clone(rs), func(r rune) bool { return isControl(r) && r != '\r' && r != '\b' })
}

// linesReference splits decoded text into lines in their last state.
func linesReference(decoded string) []string {
	var lines []string
	line, pending := "", false
	for _, r := range decoded {
		switch r {
		case '\n':
			lines, line, pending = append(lines, line), "", false
		case '\r':
			pending = true
		case '\b':
			if !pending {
				_, n := utf8.DecodeLastRuneInString(line)
				line = line[:len(line)-n]
			}
		default:
			if pending {
				line, pending = "", false
			}
			line += string(r)
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// reference is the plain form of Accumulator: the whole output at once.
func reference(raw string, l Limits) Snapshot {
	l = l.orDefaults()
	lines := linesReference(decodeReference(raw))
	s := Snapshot{TotalLines: int64(len(lines)), LastLine: int64(len(lines)), TotalBytes: int64(len(raw))}
	size, kept := -1, 0
	for i := len(lines) - 1; i >= 0 && kept < l.Lines && size+len(lines[i])+1 <= l.Bytes; i-- {
		size += len(lines[i]) + 1
		kept++
	}
	switch {
	case len(lines) == 0:
		return s
	case kept == 0:
		text := lines[len(lines)-1]
		from := len(text) - l.Bytes
		for from < len(text) && !utf8.RuneStart(text[from]) {
			from++
		}
		s.Text, s.PartialLine, s.ByBytes, s.Truncated, kept = text[from:], true, true, true, 1
	default:
		s.Text = strings.Join(lines[len(lines)-kept:], "\n")
		s.Truncated = kept < len(lines)
		s.ByLines = s.Truncated && kept == l.Lines
		s.ByBytes = s.Truncated && !s.ByLines
	}
	s.FirstLine = s.TotalLines - int64(kept) + 1
	return s
}

// randomOutput returns at most most pieces of what commands print.
func randomOutput(r *rand.Rand, most int) string {
	pieces := []string{
		"a", "bc", "line of text", "\n", "\n", "\n", "\r", "\r\n", "\b", "\t", "€", "😀", "é", "£", "\x1b[31m", "\x1b[0m", "\x1b]8;;x\x07",
		"\x1b]0;t\x1b\\", "\x1b]2;ti€tle\u009c", "\xff", "\xc3", "\xc2", "\xf0\x9f", "\x9b31m", "\u009b1m", "\u009d", "\x00", "\x07", "50%\r",
		strings.Repeat("x", 40), strings.Repeat("y\n", 30), "\x1b(B", "\u202e", "\x1b", "\x1b[", "\x1bP", "\x1b]", "\x1b_", "\x18", "\u0085",
		strings.Repeat("a long line ends\n", 15), strings.Repeat("z", 60) + "\r",
	}
	var b strings.Builder
	for range r.IntN(most) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

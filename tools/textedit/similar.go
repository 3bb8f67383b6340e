package textedit

import (
	"bytes"
	"math/bits"
	"strings"
)

const (
	maxSimilarLines = 64   // lines of the text that are compared, one bit each
	maxSimilarLine  = 2000 // bytes of a line
	trigramBuckets  = 1 << 16
)

// similarLines finds the lines of text that have most in common with those of
// old: each pair of lines that share enough trigrams votes for how old lies on
// the text, and the place with most votes wins. Its cost is one pass over text.
func similarLines(text []byte, old string) (span, bool) {
	lines := splitLines(old)
	lines = lines[:min(len(lines), maxSimilarLines)]
	index := make([]uint64, trigramBuckets) // which lines of old have a trigram
	sizes := make([]int, len(lines))
	total := 0.0
	var buf []byte
	for i, line := range lines {
		buf = squeezeLine(buf, []byte(line))
		sizes[i] = max(len(buf)-2, 0)
		total += float64(sizes[i])
		for j := range sizes[i] {
			index[trigram(buf[j:])] |= 1 << i
		}
	}
	if total == 0 {
		return span{}, false
	}
	votes := make([]float64, len(lines)) // of the places that end in the last lines, by line number
	counts := make([]int, len(lines))
	best, bestLine := 0.0, 0
	consider := func(line int) {
		if slot := &votes[line%len(lines)]; *slot > best {
			best, bestLine, *slot = *slot, line, 0
		} else {
			*slot = 0
		}
	}
	// votes[n%len] gathers for old starting at line n; the first lines of old
	// may lie before the text, which gives negative starts: shift by len.
	number := len(lines)
	for rest := text; len(rest) > 0; number++ {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		rest = after
		buf = squeezeLine(buf, line)
		if len(buf) < 3 {
			consider(number - len(lines) + 1)
			continue
		}
		clear(counts)
		for j := 0; j+3 <= len(buf); j++ {
			for mask := index[trigram(buf[j:])]; mask != 0; mask &= mask - 1 {
				counts[bits.TrailingZeros64(mask)]++
			}
		}
		for i, n := range counts {
			if n == 0 {
				continue
			}
			own := sizes[i]
			longer := max(own, len(buf)-2)
			if len(lines) == 1 || i == 0 || i == len(lines)-1 {
				longer = max(own, min(longer, 2*own)) // old may be a part of the line
			}
			if share := float64(min(n, own)) / float64(longer); share >= similarityFloor {
				votes[(number-i)%len(lines)] += share * float64(own)
			}
		}
		consider(number - len(lines) + 1) // no later line votes for it
	}
	for n := number - len(lines) + 1; n < number; n++ {
		consider(n)
	}
	if best < similarityFloor*total {
		return span{}, false
	}
	return lineSpanOf(text, bestLine-len(lines), len(lines)), true
}

// lineSpanOf is the span of n lines from the first, from 0, as far as they exist.
func lineSpanOf(text []byte, first, n int) span {
	if first < 0 {
		n, first = n+first, 0
	}
	var s span
	for range first {
		s.start = lineEnd(text, s.start)
	}
	s.end = s.start
	for range max(n, 1) {
		s.end = lineEnd(text, s.end)
	}
	return s
}

// squeezeLine squeezes the start of a line into buf.
func squeezeLine(buf, line []byte) []byte {
	line = line[:min(len(line), maxSimilarLine)]
	buf = buf[:0]
	for len(line) > 0 {
		var size int
		buf, size = squeezeRune(buf, line)
		line = line[size:]
	}
	return buf
}

func trigram(b []byte) uint16 {
	h := uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
	return uint16(h * 2654435761 >> 16)
}

// trimEnding is the line without its ending.
func trimEnding(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

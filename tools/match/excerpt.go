package match

import (
	"bytes"
	"unicode/utf8"
)

// maxText is the number of bytes that are kept of a line whose length the
// request does not limit.
const maxText = 16 << 10

// excerpt cuts a line, given without its line feed, to at most limit characters
// around a place in it. Cuts are between characters. A limit of zero or less
// means maxText bytes.
func excerpt(line []byte, at, limit int) (text string, cut bool) {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	at = min(at, len(line))
	if limit <= 0 || limit > maxText {
		limit = maxText
	}
	if len(line) <= limit || len(line) <= utf8.UTFMax*limit && utf8.RuneCount(line) <= limit {
		return string(line), false
	}
	start := back(line, at, limit/2)
	end := start
	count := 0
	for ; count < limit && end < len(line); count++ {
		_, n := utf8.DecodeRune(line[end:])
		end += n
	}
	start = back(line, start, limit-count)
	return string(line[start:end]), true
}

// back returns the place n characters before at, which may be inside of one.
func back(line []byte, at, n int) int {
	for k := 0; k < utf8.UTFMax && at < len(line) && at > 0 && !utf8.RuneStart(line[at]); k++ {
		at--
	}
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRune(line[:at])
		at -= size
	}
	return at
}

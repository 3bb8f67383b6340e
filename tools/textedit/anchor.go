package textedit

import (
	"bytes"
	"strings"
)

// maxAnchors bounds how often an anchor may occur; what is more common costs
// more than folding the file once.
const maxAnchors = 256

// byAnchor finds the places of old, which has line endings, by its longest line,
// so that a file with "\r\n" is neither copied nor looked at line by line. It
// reports false if that line is empty or too common to tell.
func (t *source) byAnchor(old string) (hits []span, ok bool) {
	lines := strings.Split(old, "\n")
	for i := range lines[:len(lines)-1] {
		lines[i] = strings.TrimSuffix(lines[i], "\r") // of its ending
	}
	k := 0
	for i, line := range lines {
		if len(line) > len(lines[k]) {
			k = i
		}
	}
	anchor := []byte(lines[k])
	if len(anchor) == 0 {
		return nil, false
	}
	seen := 0
	for at := t.begin; ; at++ {
		i := bytes.Index(t.content[at:], anchor)
		if i < 0 {
			return hits, true
		}
		if at += i; seen == maxAnchors {
			return nil, false
		}
		seen++
		start, found := t.backTo(at, lines[:k])
		if !found {
			continue
		}
		if end, found := matchAt(t.content, start, old); found {
			hits = append(hits, span{start, end})
		}
	}
}

// backTo returns where the lines that end at offset start.
func (t *source) backTo(offset int, lines []string) (start int, ok bool) {
	text := t.content[t.begin:offset]
	for i := len(lines) - 1; i >= 0; i-- {
		if text, ok = bytes.CutSuffix(text, []byte("\n")); !ok {
			return 0, false
		}
		text = bytes.TrimSuffix(text, []byte("\r"))
		if text, ok = bytes.CutSuffix(text, []byte(lines[i])); !ok {
			return 0, false
		}
	}
	return t.begin + len(text), true
}

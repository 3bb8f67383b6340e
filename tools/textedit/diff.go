package textedit

import (
	"bytes"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// block is a run of whole lines that were replaced by others.
type block struct {
	span                      // of the original, whole lines
	oldLine, newLine int      // number of the first line, from 1, in each content
	old, next        []string // lines with their endings
}

// diffBlocks turns changes into the few blocks of lines that differ, in order.
func diffBlocks(content []byte, changes []change) []block {
	var blocks []block
	counted, line, drift := 0, 1, 0
	for i := 0; i < len(changes); {
		start := lineStart(content, changes[i].start)
		end := lineEnd(content, changes[i].end)
		j := i + 1
		for j < len(changes) && changes[j].start <= end {
			end = lineEnd(content, changes[j].end)
			j++
		}
		line += bytes.Count(content[counted:start], []byte("\n"))
		counted = start
		old := string(content[start:end])
		next := string(spliceRange(content, span{start, end}, changes[i:j]))
		for _, b := range lineBlocks(old, next) {
			b.start, b.end = start+b.start, start+b.end
			b.oldLine += line
			b.newLine += line + drift
			blocks = append(blocks, b)
		}
		drift += strings.Count(next, "\n") - strings.Count(old, "\n")
		i = j
	}
	return blocks
}

// spliceRange makes the changes within s only.
func spliceRange(content []byte, s span, changes []change) []byte {
	var out []byte
	for _, c := range changes {
		out = append(out, content[s.start:c.start]...)
		out = append(out, c.text...)
		s.start = c.end
	}
	return append(out, content[s.start:s.end]...)
}

// lineBlocks compares two texts by lines; lines count from 0 and spans from the
// start of old.
func lineBlocks(old, next string) []block {
	a, b := splitLines(old), splitLines(next)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	offsets := make([]int, len(a)+1)
	for i, line := range a {
		offsets[i+1] = offsets[i] + len(line)
	}
	middle, other := a[head:len(a)-tail], b[head:len(b)-tail]
	var blocks []block
	for _, d := range lcs.DiffLines(middle, other) {
		blocks = append(blocks, block{
			span:    span{offsets[head+d.Start], offsets[head+d.End]},
			oldLine: head + d.Start, newLine: head + d.ReplStart,
			old: middle[d.Start:d.End], next: other[d.ReplStart:d.ReplEnd],
		})
	}
	return blocks
}

// splitLines cuts text behind every "\n".
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// lineStart is where the line with the byte at offset starts.
func lineStart(content []byte, offset int) int {
	return bytes.LastIndexByte(content[:offset], '\n') + 1
}

// lineEnd is the end, behind its "\n", of the line with the byte at offset.
func lineEnd(content []byte, offset int) int {
	if i := bytes.IndexByte(content[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(content)
}

// hunk is what a diff shows in one piece: blocks and the lines around them.
type hunk struct {
	lines            []hunkLine
	oldLine, newLine int // number of the first line
	oldSize, newSize int // number of lines
}

// hunkLine is a line with its ending; kind is ' ', '-' or '+'.
type hunkLine struct {
	kind byte
	text string
}

// hunks groups blocks, with up to context lines around them. Blocks that are at
// most twice that apart share a hunk.
func hunks(content []byte, blocks []block, context int) []hunk {
	var out []hunk
	for i := 0; i < len(blocks); {
		first := blocks[i]
		before := linesBefore(content, first.start, context)
		h := hunk{oldLine: first.oldLine - len(before), newLine: first.newLine - len(before)}
		h.add(' ', before)
		for {
			b := blocks[i]
			h.add('-', b.old)
			h.add('+', b.next)
			i++
			if i == len(blocks) {
				break
			}
			gap := blocks[i].oldLine - b.oldLine - len(b.old)
			if gap > 2*context {
				break
			}
			h.add(' ', splitLines(string(content[b.end:blocks[i].start])))
		}
		h.add(' ', linesAfter(content, blocks[i-1].end, context))
		out = append(out, h)
	}
	return out
}

func (h *hunk) add(kind byte, lines []string) {
	for _, text := range lines {
		h.lines = append(h.lines, hunkLine{kind, text})
	}
	if kind != '+' {
		h.oldSize += len(lines)
	}
	if kind != '-' {
		h.newSize += len(lines)
	}
}

func linesBefore(content []byte, offset, n int) []string {
	start := offset
	for range n {
		if start == 0 {
			break
		}
		start = lineStart(content, start-1)
	}
	return splitLines(string(content[start:offset]))
}

func linesAfter(content []byte, offset, n int) []string {
	end := offset
	for range n {
		end = lineEnd(content, end)
	}
	return splitLines(string(content[offset:end]))
}

package textedit

import (
	"cmp"
	"slices"
	"strings"
)

// Edit replaces Old, which occurs exactly once, by New. Both are literal.
//
// A "\n" of Old matches "\n" or "\r\n" of the file; a "\n" of New becomes the
// line ending of its surroundings. A "\r\n" stands for itself in both.
type Edit struct{ Old, New string }

// Outcome is an edited file and what changed in it.
type Outcome struct {
	// Bytes is the new content; it shares no memory with the old one.
	Bytes []byte
	// Diff is for display: the changed lines and four lines around them, each
	// with its number and "-", "+" or " ". It is valid UTF-8; long lines are cut.
	Diff string
	// Patch is a unified patch from a/<name> to b/<name> for patch -p1, exact to
	// the byte. It is empty if it would be longer than 4 MiB.
	Patch string
	// FirstChangedLine counts from 1, in the new content.
	FirstChangedLine int
	// Tolerant lists the indexes of edits that matched only tolerantly.
	Tolerant []int
}

// bom is the UTF-8 byte order mark.
const bom = "\uFEFF"

// span is a half-open range of bytes of the original.
type span struct{ start, end int }

// change is one matched edit: the span and the bytes that take its place.
type change struct {
	span
	text  string
	index int
}

// Apply makes all edits or none. name is how messages and the patch call the
// file. content is not modified.
//
// The error is one of *EmptyError, *NoChangeError, *NotFoundError,
// *AmbiguousError and *OverlapError.
func Apply(name string, content []byte, edits []Edit) (Outcome, error) {
	if len(edits) == 0 {
		return Outcome{}, &EmptyError{Ref{Name: name, Index: -1}}
	}
	refs := func(i int) Ref { return Ref{Name: name, Index: i, Total: len(edits)} }
	for i, e := range edits {
		if e.Old == "" {
			return Outcome{}, &EmptyError{refs(i)}
		}
		if e.Old == e.New {
			return Outcome{}, &NoChangeError{Ref: refs(i)}
		}
	}
	text := newSource(content)
	var tolerant []int
	changes := make([]change, 0, len(edits))
	for i, e := range edits {
		hits, exact := text.find(e.Old)
		switch len(hits) {
		case 0:
			return Outcome{}, text.notFound(refs(i), e.Old)
		case 1:
		default:
			return Outcome{}, text.ambiguous(refs(i), hits, !exact)
		}
		if !exact {
			tolerant = append(tolerant, i)
		}
		c := change{span: hits[0], text: text.replacement(hits[0], e.New), index: i}
		if string(content[c.start:c.end]) == c.text {
			return Outcome{}, &NoChangeError{Ref: refs(i), Line: text.line(c.start)}
		}
		changes = append(changes, c)
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(changes); i++ {
		a, b := changes[i-1], changes[i]
		if a.end > b.start || a.start == b.start {
			return Outcome{}, &OverlapError{
				Ref: refs(min(a.index, b.index)), Other: max(a.index, b.index), Line: text.line(b.start),
			}
		}
	}
	out := Outcome{Bytes: splice(content, changes), Tolerant: tolerant}
	blocks := diffBlocks(content, changes)
	if len(blocks) == 0 {
		return Outcome{}, &NoChangeError{Ref: Ref{Name: name, Index: -1, Total: len(edits)}}
	}
	out.FirstChangedLine = firstChangedLine(content, blocks[0])
	out.Diff = display(content, blocks)
	out.Patch = patch(name, content, blocks)
	return out, nil
}

// splice returns content with the changes made; they are sorted and apart.
func splice(content []byte, changes []change) []byte {
	size := len(content)
	for _, c := range changes {
		size += len(c.text) - (c.end - c.start)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, c := range changes {
		out = append(out, content[at:c.start]...)
		out = append(out, c.text...)
		at = c.end
	}
	return append(out, content[at:]...)
}

// firstChangedLine is where the first block stands in the new content. What was
// cut off at the end counts as the last line that is left.
func firstChangedLine(content []byte, first block) int {
	if len(first.next) == 0 && first.end == len(content) {
		return max(first.newLine-1, 1)
	}
	return first.newLine
}

// replacement is the literal bytes that New puts in place of s.
func (t *source) replacement(s span, text string) string {
	if s.start == t.begin && t.begin > 0 {
		text = strings.TrimPrefix(text, bom) // exactly one stays (EDIT-07)
	}
	return t.localEndings(s, text)
}

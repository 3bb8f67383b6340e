package textedit

import (
	"fmt"
	"strconv"
	"strings"
)

// Ref says which edit of which file an error is about.
type Ref struct {
	Name  string // of the file, as given to Apply
	Index int    // of the edit, from 0; -1 if it is about none or all of them
	Total int    // number of edits
}

// field names a field of the edit, with its index only where there are several.
func (r Ref) field(name string) string {
	if r.Total > 1 {
		return fmt.Sprintf("edits[%d].%s", r.Index, name)
	}
	return name
}

// EmptyError means that there are no edits or that Old is empty.
type EmptyError struct{ Ref }

func (e *EmptyError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("No edits were given for %s: give at least one.", e.Name)
	}
	return fmt.Sprintf("%s is empty: give the exact text of %s that is to be replaced.", e.field("oldText"), e.Name)
}

// NoChangeError means that an edit, or all of them together, would leave the
// file as it is.
type NoChangeError struct {
	Ref
	Line int // where the text already is; 0 if Old and New are equal
}

func (e *NoChangeError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("The edits undo each other, so %s would not change.", e.Name)
	}
	if e.Line == 0 {
		return fmt.Sprintf("%s and %s are the same, so %s would not change.", e.field("oldText"), e.field("newText"), e.Name)
	}
	return fmt.Sprintf("%s is already what %s has at line %d, so it would not change.", e.field("newText"), e.Name, e.Line)
}

// AmbiguousError means that Old occurs more than once.
type AmbiguousError struct {
	Ref
	Count    int   // number of places, overlapping ones too; at most 10,000
	Lines    []int // line numbers of the first places, at most 10
	Tolerant bool  // the places match only tolerantly
}

func (e *AmbiguousError) Error() string {
	how, count := "occurs", strconv.Itoa(e.Count)
	if e.Tolerant {
		how = "does not occur exactly, and with tolerance for blanks and look-alike characters it occurs"
	}
	if e.Count >= maxHits {
		count = "at least " + count
	}
	return fmt.Sprintf("%s %s %s times in %s, at %s: it must occur exactly once, so add surrounding text to make it unique.",
		e.field("oldText"), how, count, e.Name, lineList(e.Lines, e.Count))
}

// OverlapError means that the spans of two edits share bytes.
type OverlapError struct {
	Ref
	Other int // index of the second edit
	Line  int // where they meet
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("edits[%d] and edits[%d] overlap at line %d of %s: merge them into one edit.", e.Index, e.Other, e.Line, e.Name)
}

// NotFoundError means that Old occurs nowhere, not even tolerantly.
type NotFoundError struct {
	Ref
	Lines   int     // number of lines of the file
	Nearest *Region // nil if nothing is similar
}

func (e *NotFoundError) Error() string {
	head := fmt.Sprintf("%s was not found in %s", e.field("oldText"), e.Name)
	switch {
	case e.Lines == 0:
		return head + ", which is empty."
	case e.Nearest == nil:
		return fmt.Sprintf("%s (%s), nor anything similar: read the file again.", head, plural(e.Lines, "line"))
	}
	return fmt.Sprintf("%s. The nearest text is at %s; %s:\n%s", head,
		lineRange(e.Nearest.FirstLine, e.Nearest.LastLine), e.Nearest.Difference, e.Nearest.Text)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func lineRange(first, last int) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d-%d", first, last)
}

// lineList is "line 1", "lines 1 and 2", "lines 1, 2 and 3" or "lines 1, 2, ...".
func lineList(lines []int, count int) string {
	parts := make([]string, len(lines))
	for i, n := range lines {
		parts[i] = strconv.Itoa(n)
	}
	switch n := len(parts); {
	case n == 1 && count == 1:
		return "line " + parts[0]
	case n < count:
		return "lines " + strings.Join(parts, ", ") + ", ..."
	default:
		return "lines " + strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
}

package textedit

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

const (
	patchContext = 3
	maxPatch     = 4 << 20 // bytes
)

// Patch is the unified patch, for patch -p1, that makes next of old. It is empty where
// they are equal, or where it would be too long to be of use.
func Patch(name, old, next string) string {
	if old == next {
		return ""
	}
	content := []byte(old)
	return patch(name, content, diffBlocks(content, []change{{span: span{0, len(old)}, text: next}}))
}

// patch is the unified patch of blocks, or "" if it is too long.
func patch(name string, content []byte, blocks []block) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", patchName("a/", name), patchName("b/", name))
	for _, h := range hunks(content, blocks, patchContext) {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", lineSpan(h.oldLine, h.oldSize), lineSpan(h.newLine, h.newSize))
		for _, l := range h.lines {
			if b.Len()+len(l.text) > maxPatch {
				return ""
			}
			b.WriteByte(l.kind)
			b.WriteString(l.text)
			if !strings.HasSuffix(l.text, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	return b.String()
}

// lineSpan is first,count as diff writes it: without a count of one, and with
// the line before where there are none.
func lineSpan(first, count int) string {
	switch count {
	case 0:
		return strconv.Itoa(first-1) + ",0"
	case 1:
		return strconv.Itoa(first)
	}
	return strconv.Itoa(first) + "," + strconv.Itoa(count)
}

// patchName is the file's name below prefix. A tab ends a name with a blank; a
// name with control characters, quotes or backslashes is quoted as in C.
func patchName(prefix, name string) string {
	name = prefix + strings.TrimPrefix(path.Clean("/"+name), "/")
	plain := true
	for _, c := range []byte(name) {
		plain = plain && c >= ' ' && c != 0x7f && c != '"' && c != '\\'
	}
	switch {
	case plain && strings.Contains(name, " "):
		return name + "\t"
	case plain:
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

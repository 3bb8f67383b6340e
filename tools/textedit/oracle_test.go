package textedit_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/piremote/piremote/tools/textedit"
)

// applyPatch makes the changes of a unified patch, and refuses it if any line of
// it, or any number, is not what the text has. It shares nothing with what
// writes patches; that it reads them as the patch program does, TestPatchOracle
// and FuzzPatch show.
func applyPatch(content, patch string) (string, error) {
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	rest := strings.SplitAfter(patch, "\n")
	if len(rest) < 3 || !strings.HasPrefix(rest[0], "--- a/") || !strings.HasPrefix(rest[1], "+++ b/") {
		return "", errors.New("no header")
	}
	var out strings.Builder
	at, written := 0, 0 // lines taken and made
	for rest = rest[2:]; len(rest) > 0 && rest[0] != ""; {
		old, next, err := hunkHeader(rest[0])
		if err != nil {
			return "", err
		}
		if old[0]-1 < at || old[0]-1 > len(lines) {
			return "", fmt.Errorf("%s: the text stands at line %d of %d", rest[0], at+1, len(lines))
		}
		for at < old[0]-1 {
			out.WriteString(lines[at])
			at, written = at+1, written+1
		}
		if next[0]-1 != written {
			return "", fmt.Errorf("%s: %d lines were made", rest[0], written)
		}
		for rest = rest[1:]; old[1] > 0 || next[1] > 0; {
			if len(rest) == 0 || rest[0] == "" {
				return "", errors.New("a hunk ends early")
			}
			kind, text := rest[0][0], rest[0][1:]
			if rest = rest[1:]; len(rest) > 0 && strings.HasPrefix(rest[0], `\ No newline`) {
				text, rest = strings.TrimSuffix(text, "\n"), rest[1:]
			}
			if kind != '+' {
				if at == len(lines) || lines[at] != text {
					return "", fmt.Errorf("line %d is not %q", at+1, text)
				}
				at, old[1] = at+1, old[1]-1
			}
			if kind != '-' {
				out.WriteString(text)
				written, next[1] = written+1, next[1]-1
			}
		}
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String(), nil
}

// hunkHeader returns the first line and the number of lines of both sides. Of a
// side without lines the first is the one behind the line that the header names.
func hunkHeader(line string) (old, next [2]int, err error) {
	fields := strings.Fields(line)
	if len(fields) != 4 || fields[0] != "@@" || fields[3] != "@@" {
		return old, next, fmt.Errorf("no hunk: %q", line)
	}
	for i, side := range []*[2]int{&old, &next} {
		first, count, several := strings.Cut(fields[1+i][1:], ",")
		if !several {
			count = "1"
		}
		if side[0], err = strconv.Atoi(first); err != nil {
			return old, next, err
		}
		if side[1], err = strconv.Atoi(count); err != nil {
			return old, next, err
		}
		if side[1] == 0 {
			side[0]++
		}
	}
	return old, next, nil
}

// checkWithPatch is check, and the patch makes the new content of the old.
func checkWithPatch(t *testing.T, content string, list edits) (applied bool) {
	t.Helper()
	if !check(t, content, list) {
		return false
	}
	out, err := textedit.Apply("f", []byte(content), list)
	if err != nil {
		t.Fatal(err)
	}
	got, err := applyPatch(content, out.Patch)
	if err != nil || got != string(out.Bytes) {
		t.Fatalf("%v\npatch makes %q\nof %q, want %q\n%s", err, got, content, out.Bytes, out.Patch)
	}
	return true
}

// Random edits: every byte outside the matched places stays, and the patch says
// what was done. PIREMOTE_SOAK=1 makes a million of them.
func TestEDIT01RandomEditsAgainstTheOracle(t *testing.T) {
	count := 20_000
	if os.Getenv("PIREMOTE_SOAK") == "1" { //nolint:forbidigo // tests read their own switches
		count = 1_000_000
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	applied, tolerant := 0, 0
	for range count {
		content, list := randomCase(r, 25)
		if !checkWithPatch(t, content, list) {
			continue
		}
		applied++
		if len(list) == 1 && !strings.Contains(content, list[0].Old) {
			tolerant++
		}
	}
	t.Logf("%d edits, %d applied, %d of them not as they are written", count, applied, tolerant)
	if applied < count/10 || tolerant < count/1000 {
		t.Error("the cases test too little")
	}
}

// likeness is what two texts have in common that differ only in what a tolerant
// match ignores.
func likeness(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\r', '\t', '\uFEFF', '"', '\'', '-':
			return -1
		case '\u2018', '\u2019', '\u201A', '\u201B', '\u201C', '\u201D', '\u201E', '\u201F':
			return -1
		case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
			return -1
		}
		if norm.NFKC.String(string(r)) == " " || r == '\u1680' {
			return -1
		}
		return r
	}, norm.NFKC.String(s))
}

// One edit of any text: all but one place is unchanged, that place is like the
// old text, what stands there is the new text with some line endings, and the
// patch program makes the same of it.
func FuzzPatch(f *testing.F) {
	for _, seed := range [][3]string{
		{"untouched   \nreplace me   \nafter\n", "replace me\nafter", "D\nE"},
		{"\ufeffa\r\nb", "a\nb", "\ufeffc\n"},
		{"caf\xe9 “x”\n\n\nend", `"x"`, "$&"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "5\n", ""},
		{"x", "x", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n"},
		{"a\r\r\nb\x00\n", "b", "\\ No newline at end of file"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, content, old, text string) {
		if len(content) > 1000 || len(text) > 300 { // the oracle tries all places
			t.Skip()
		}
		out, err := textedit.Apply("f", []byte(content), edits{{old, text}})
		if err != nil {
			checkError(t, err)
			return
		}
		onePlace(t, content, textedit.Edit{Old: old, New: text}, string(out.Bytes))
		if got, err := applyPatch(content, out.Patch); err != nil || got != string(out.Bytes) {
			t.Fatalf("%v\npatch makes %q, want %q\n%s", err, got, out.Bytes, out.Patch)
		}
		checkPatch(t, "f", content, out)
	})
}

// onePlace fails the test unless got is content with one place like e.Old
// replaced by e.New, give or take line endings.
func onePlace(t *testing.T, content string, e textedit.Edit, got string) {
	t.Helper()
	unix := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	head := 0
	for head < len(content) && head < len(got) && content[head] == got[head] {
		head++
	}
	tail := 0
	for tail < len(content) && tail < len(got) && content[len(content)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	// The place starts at or before the first difference and ends at or behind the last.
	for start := range head + 1 {
		for end := max(start, len(content)-tail); end <= len(content); end++ {
			made := len(got) - (len(content) - end)
			if made < start || likeness(content[start:end]) != likeness(e.Old) {
				continue
			}
			now := got[start:made]
			if now == e.New || unix(now) == unix(e.New) || start <= 3 && unix(now) == unix(strings.TrimPrefix(e.New, "\ufeff")) {
				return
			}
		}
	}
	t.Fatalf("bytes outside one place changed\ncontent %q\nedit %q\ngot %q", content, e, got)
}

package textedit_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/piremote/piremote/tools/textedit"
)

// check is the oracle of one application: every error is one of ours; every byte
// outside the places is unchanged; an exact edit of a file without "\r" is what
// strings.Replace makes.
func check(t *testing.T, content string, list edits) (applied bool) {
	t.Helper()
	given := []byte(content)
	out, err := textedit.Apply("f", given, list)
	if string(given) != content {
		t.Fatal("input modified")
	}
	if err != nil {
		checkError(t, err)
		if len(list) == 1 && exactOnce(content, list[0]) {
			t.Fatalf("an exact edit fails: %v\n%q %q", err, content, list)
		}
		return false
	}
	if len(list) == 1 && !strings.Contains(content, "\r") && !strings.HasPrefix(content, "\ufeff") && strings.Contains(content, list[0].Old) {
		if want := strings.Replace(content, list[0].Old, list[0].New, 1); want != string(out.Bytes) {
			t.Fatalf("%q %q\ngot  %q\nwant %q", content, list, out.Bytes, want)
		}
	}
	if !outsideUnchanged(content, string(out.Bytes), list) {
		t.Fatalf("bytes outside changed\ncontent %q\nedits %q\ngot %q", content, list, out.Bytes)
	}
	lines := max(1, bytes.Count(out.Bytes, []byte("\n")))
	if out.FirstChangedLine < 1 || out.FirstChangedLine > lines+1 {
		t.Fatalf("FirstChangedLine %d of %d", out.FirstChangedLine, lines)
	}
	if out.Diff == "" || out.Patch == "" {
		t.Fatal("no diff")
	}
	return true
}

func checkError(t *testing.T, err error) {
	t.Helper()
	var (
		empty     *textedit.EmptyError
		same      *textedit.NoChangeError
		missing   *textedit.NotFoundError
		ambiguous *textedit.AmbiguousError
		overlap   *textedit.OverlapError
	)
	if !errors.As(err, &empty) && !errors.As(err, &same) && !errors.As(err, &missing) && !errors.As(err, &ambiguous) && !errors.As(err, &overlap) {
		t.Fatalf("foreign error %T: %v", err, err)
	}
}

// exactOnce reports whether an edit must succeed.
func exactOnce(content string, e textedit.Edit) bool {
	if e.Old == "" || e.Old == e.New || strings.Contains(content, "\r") || strings.HasPrefix(content, "\ufeff") {
		return false
	}
	i := strings.Index(content, e.Old)
	return i >= 0 && i == strings.LastIndex(content, e.Old)
}

// outsideUnchanged tries to explain got as the content with one piece for each
// edit replaced by its new text with some line endings, and nothing else. It
// knows nothing of how the places were found.
func outsideUnchanged(content, got string, list edits) bool {
	if len(list) == 0 {
		return content == got
	}
	// The replaced texts of several edits stand in any order.
	for k := range list {
		rest := append(append(edits{}, list[:k]...), list[k+1:]...)
		for _, text := range endingsOf(strings.TrimPrefix(list[k].New, "\ufeff"), list[k].New) {
			for at := 0; at <= len(content) && strings.HasPrefix(got, content[:at]); at++ {
				if !strings.HasPrefix(got[at:], text) {
					continue
				}
				tail := got[at+len(text):]
				for end := at; end <= len(content); end++ {
					if len(rest) == 0 && content[end:] == tail && plausible(content[at:end], list[k].Old) ||
						len(rest) > 0 && plausible(content[at:end], list[k].Old) && outsideUnchanged(content[end:], tail, rest) {
						return true
					}
				}
			}
		}
	}
	return false
}

// plausible reports whether a replaced piece has the letters of old.
func plausible(piece, old string) bool {
	return letters(piece) == letters(old)
}

// letters keeps what no tolerance may touch.
func letters(s string) string {
	s = strings.NewReplacer("ﬁ", "fi", "e\u0301", "é", "\ufeff", "").Replace(s)
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("\r \t\u00a0“”‘’\"'–-", r) {
			return -1
		}
		return r
	}, s)
}

// endingsOf returns the texts with every choice of line endings.
func endingsOf(texts ...string) []string {
	var out []string
	for _, text := range texts {
		n := strings.Count(text, "\n")
		for choice := range 1 << min(n, 6) {
			var b strings.Builder
			for i, k := 0, 0; i < len(text); i++ {
				if text[i] == '\n' {
					if choice>>k&1 == 1 && (i == 0 || text[i-1] != '\r') {
						b.WriteByte('\r')
					}
					k++
				}
				b.WriteByte(text[i])
			}
			out = append(out, b.String())
		}
	}
	return out
}

// randomCase makes a file of pieces that the rules treat differently, and one
// or two edits whose old texts are mostly disturbed pieces of it.
func randomCase(r *rand.Rand, size int) (string, edits) {
	pieces := []string{
		"a", "b", "c", "d", "e", " ", "  ", "\t", "\n", "\n", "\r\n", "\r", "“", "”", "\"", "’", "'", "–", "-",
		"\u00a0", "ﬁ", "f", "i", "é", "e\u0301", "\xe9", "\xff", "\x00", "$1", "世", "func", "return", "\ufeff",
	}
	random := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	content := random(1 + r.IntN(size))
	if r.IntN(8) == 0 {
		content = "\ufeff" + content
	}
	disturb := strings.NewReplacer("\r\n", "\n", "“", "\"", "”", "\"", "’", "'", "–", "-", "\u00a0", " ", "ﬁ", "fi", "e\u0301", "é", "  \n", "\n", " \n", "  \n")
	list := make(edits, 1+r.IntN(2))
	for i := range list {
		from := r.IntN(len(content) + 1)
		to := min(len(content), from+1+r.IntN(10))
		old := content[from:to]
		if r.IntN(2) == 0 {
			old = disturb.Replace(old)
		}
		if r.IntN(20) == 0 {
			old += random(1)
		}
		list[i] = textedit.Edit{Old: old, New: random(r.IntN(5))}
	}
	return content, list
}

// FuzzApply makes two edits of pieces that the rules treat differently.
func FuzzApply(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, uint8(10*seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, size uint8) {
		content, list := randomCase(rand.New(rand.NewPCG(seed, 1)), 1+int(size)%40)
		checkWithPatch(t, content, list)
	})
}

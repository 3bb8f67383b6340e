package textedit

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A search by anchor finds what one in the folded file finds.
func TestAnchorAgreesWithFolding(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	pieces := []string{"a", "b", "ab", "\n", "\r\n", "\r", "\r\r\n", "\xe9", "\ufeff"}
	random := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	found, several := 0, 0
	for range 50_000 {
		content := random(r.IntN(30))
		old := random(1 + r.IntN(5))
		if r.IntN(2) == 0 && len(content) > 0 {
			from := r.IntN(len(content))
			old = content[from:min(len(content), from+1+r.IntN(6))]
			old = strings.ReplaceAll(old, "\r\n", []string{"\n", "\r\n"}[r.IntN(2)])
		}
		text := newSource([]byte(content))
		if !text.hasCR || !strings.Contains(old, "\n") || strings.HasSuffix(old, "\r") {
			continue
		}
		got, ok := text.byAnchor(old)
		if !ok {
			continue
		}
		want := text.byFolding(old)
		if d := cmp.Diff(want, got, cmp.AllowUnexported(span{})); d != "" {
			t.Fatalf("%q in %q: %s", old, content, d)
		}
		if len(want) > 0 {
			found++
		}
		if len(want) > 1 {
			several++
		}
	}
	if found < 1000 || several < 100 {
		t.Errorf("%d found, %d of them several times, say little", found, several)
	}
	// What is too common is left to folding.
	text := newSource([]byte(strings.Repeat("a\r\n", maxAnchors+1)))
	if _, ok := text.byAnchor("a\na"); ok {
		t.Error("a common anchor was used")
	}
	if hits := text.search("a\na"); len(hits) != maxAnchors {
		t.Errorf("%d hits", len(hits))
	}
}

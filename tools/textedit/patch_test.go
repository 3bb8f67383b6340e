package textedit_test

import (
	"testing"

	"github.com/piremote/piremote/tools/textedit"
)

// The patch between two texts makes the one of the other.
func TestPatchBetweenTexts(t *testing.T) {
	texts := []string{"", "a\n", "a\nb\nc\n", "a\nB\nc\n", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n", "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\nEIGHT\nnine\nten"}
	for _, old := range texts {
		for _, next := range texts {
			p := textedit.Patch("f", old, next)
			if old == next {
				if p != "" {
					t.Errorf("equal texts: %q", p)
				}
				continue
			}
			if got, err := applyPatch(old, p); err != nil || got != next {
				t.Errorf("%v\npatch makes %q\nof %q, want %q\n%s", err, got, old, next, p)
			}
		}
	}
}

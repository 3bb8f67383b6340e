package textedit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/textedit"
)

func TestEDIT06RefusedEdits(t *testing.T) {
	one := func(name string) textedit.Ref { return textedit.Ref{Name: name, Total: 1} }
	of2 := func(i int) textedit.Ref { return textedit.Ref{Name: "a.txt", Index: i, Total: 2} }
	for _, c := range []struct {
		name, content string
		edits         edits
		want          error
		text          string
	}{
		{
			"no edits", "a", nil, &textedit.EmptyError{Ref: textedit.Ref{Name: "a.txt", Index: -1}},
			"No edits were given for a.txt: give at least one.",
		},
		{
			"empty old", "a",
			edits{{"", "b"}},
			&textedit.EmptyError{Ref: one("a.txt")},
			"oldText is empty: give the exact text of a.txt that is to be replaced.",
		},
		{
			"empty old of several", "a",
			edits{{"a", "b"}, {"", "b"}},
			&textedit.EmptyError{Ref: of2(1)},
			"edits[1].oldText is empty: give the exact text of a.txt that is to be replaced.",
		},
		{
			"twice", "a\na\n",
			edits{{"a", "b"}},
			&textedit.AmbiguousError{Ref: one("a.txt"), Count: 2, Lines: []int{1, 2}},
			"oldText occurs 2 times in a.txt, at lines 1 and 2: it must occur exactly once, so add surrounding text to make it unique.",
		},
		{
			"overlapping places", "aaa",
			edits{{"aa", "b"}},
			&textedit.AmbiguousError{Ref: one("a.txt"), Count: 2, Lines: []int{1, 1}},
			"oldText occurs 2 times in a.txt, at lines 1 and 1: it must occur exactly once, so add surrounding text to make it unique.",
		},
		{
			"both line endings", "a\nb\r\na\r\nb", edits{{"x", "y"}, {"a\nb", "c"}}[1:],
			&textedit.AmbiguousError{Ref: one("a.txt"), Count: 2, Lines: []int{1, 3}},
			"oldText occurs 2 times in a.txt, at lines 1 and 3: it must occur exactly once, so add surrounding text to make it unique.",
		},
		{
			"tolerant, twice", "‘a’\n’a‘\n",
			edits{{"'a'", "b"}},
			&textedit.AmbiguousError{Ref: one("a.txt"), Count: 2, Lines: []int{1, 2}, Tolerant: true},
			"oldText does not occur exactly, and with tolerance for blanks and look-alike characters it occurs 2 times in a.txt, at lines 1 and 2: it must occur exactly once, so add surrounding text to make it unique.",
		},
		{
			"many", strings.Repeat("x\n", 12),
			edits{{"x", "b"}},
			&textedit.AmbiguousError{Ref: one("a.txt"), Count: 12, Lines: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
			"oldText occurs 12 times in a.txt, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...: it must occur exactly once, so add surrounding text to make it unique.",
		},
		{
			"overlap", "x\nabcd",
			edits{{"bcd", "2"}, {"abc", "1"}},
			&textedit.OverlapError{Ref: of2(0), Other: 1, Line: 2},
			"edits[0] and edits[1] overlap at line 2 of a.txt: merge them into one edit.",
		},
		{
			"the same twice", "abc",
			edits{{"b", "1"}, {"b", "2"}},
			&textedit.OverlapError{Ref: of2(0), Other: 1, Line: 1},
			"edits[0] and edits[1] overlap at line 1 of a.txt: merge them into one edit.",
		},
		{
			"no change", "a",
			edits{{"a", "a"}},
			&textedit.NoChangeError{Ref: one("a.txt")},
			"oldText and newText are the same, so a.txt would not change.",
		},
		{
			"no change of one", "a b",
			edits{{"a", "c"}, {"b", "b"}},
			&textedit.NoChangeError{Ref: of2(1)},
			"edits[1].oldText and edits[1].newText are the same, so a.txt would not change.",
		},
		{
			"no change after all", "x\n“a”",
			edits{{`"a"`, "“a”"}},
			&textedit.NoChangeError{Ref: one("a.txt"), Line: 2},
			"newText is already what a.txt has at line 2, so it would not change.",
		},
		{
			"no change of endings", "a\r\nb",
			edits{{"a\r\n", "a\n"}},
			&textedit.NoChangeError{Ref: one("a.txt"), Line: 1},
			"newText is already what a.txt has at line 1, so it would not change.",
		},
		{
			"no change of all together", "xy",
			edits{{"x", ""}, {"y", "xy"}},
			&textedit.NoChangeError{Ref: textedit.Ref{Name: "a.txt", Index: -1, Total: 2}},
			"The edits undo each other, so a.txt would not change.",
		},
		{
			"one edit matches the text of another", "foo b",
			edits{{"foo", "bar"}, {"bar", "baz"}},
			&textedit.NotFoundError{Ref: of2(1), Lines: 1},
			"edits[1].oldText was not found in a.txt (1 line), nor anything similar: read the file again.",
		},
		{
			"empty file", "",
			edits{{"a", "b"}},
			&textedit.NotFoundError{Ref: one("a.txt")},
			"oldText was not found in a.txt, which is empty.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := textedit.Apply("a.txt", []byte(c.content), c.edits)
			if diff := cmp.Diff(c.want, err); diff != "" {
				t.Error(diff)
			}
			if err != nil && err.Error() != c.text {
				t.Errorf("got  %s\nwant %s", err, c.text)
			}
			if out.Bytes != nil {
				t.Errorf("bytes with an error: %q", out.Bytes)
			}
		})
	}
}

func TestAmbiguousCountIsBounded(t *testing.T) {
	_, err := textedit.Apply("a.txt", []byte(strings.Repeat("a", 1<<20)), edits{{"a", "b"}})
	var many *textedit.AmbiguousError
	if !errors.As(err, &many) || many.Count != 10_000 {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "at least 10000 times") {
		t.Error(err)
	}
}

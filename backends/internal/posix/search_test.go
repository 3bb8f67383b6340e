//go:build linux

package posix

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/match"
	"github.com/piremote/piremote/tools/ops"
)

func searchTree(t *testing.T, f *fixture) {
	t.Helper()
	for name, data := range map[string]string{
		"a/one.txt": "needle\nother\nNEEDLE\n", "a/two.go": "no\nneedles here\n", "b/.hidden": "needle", "b/bin": "needle\x00\n", ".gitignore": "ignored/\n*.log\n",
		"ignored/x.txt": "needle", "keep.log": "needle", "a/.gitignore": "!keep.log\nthree*\n", "a/keep.log": "needle in kept", "a/three": "needle",
		"with\nnewline": "needle\n", "-dash": "needle\n", "$(touch pwned)": "needle\n", "é/ü": "ſtraße needle K\n", ".git/config": "needle", ".git/info/exclude": "excluded\n",
		"excluded": "needle", "node_modules/m/i.js": "needle\n", "sub/.git/x": "needle", "sub/free.log": "needle\n", "long": "needle " + strings.Repeat("x", 2<<20) + "\nneedle\n",
		"empty": "", "many": strings.Repeat("filler\n", 50) + "needle\r\n" + strings.Repeat("filler\n", 50),
	} {
		f.put(t, name, data)
	}
	must(t, os.Mkdir(f.path("emptydir"), 0o755))
	must(t, os.Symlink("a", f.path("dirlink")))
	must(t, os.Symlink("..", f.path("a/loop")))
	must(t, os.Symlink("one.txt", f.path("a/filelink")))
}

func TestGREP03SearchAgreesWithThePlainWalk(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		searchTree(t, f)
		if !f.Searches() {
			t.Fatal("no search")
		}
		for _, req := range []ops.SearchRequest{
			{Pattern: "needle", IgnoreCase: true, Context: 1},
			{Pattern: "needle", Limit: 3, MaxLine: 20},
			{Pattern: "(?i)NEEDLE|other", Glob: "a/**"},
			{Pattern: "STRASSE needle k", IgnoreCase: true},
			{Pattern: "needle here|in kept|needles h|STRASSE"},
			{Pattern: "o(ne|the)|kep(t|s)|ſ", IgnoreCase: true, Context: 1},
			{Pattern: "(ot|wh)her|needles?", Glob: "*.txt"},
			{Pattern: "-v", Literal: true},
			{Pattern: "needle", Path: "ignored"},
			{Pattern: "needle", Path: "a/one.txt"},
		} {
			req.Root, req.Path = f.dir, strings.TrimSuffix(f.path(req.Path), "/")
			got, want := []string{}, []string{}
			r1, err1 := f.Search(t.Context(), req, func(l ops.SearchLine) bool { got = append(got, fmt.Sprintf("%+v", l)); return true })
			r2, err2 := match.Search(t.Context(), system{}, match.SearchRequest(req), func(l match.SearchLine) bool {
				want = append(want, fmt.Sprintf("%+v", l))
				return true
			})
			if diff := cmp.Diff(want, got); diff != "" || (err1 == nil) != (err2 == nil) || r1.Limited != r2.Limited || r1.Unreadable != r2.Unreadable {
				t.Errorf("%+v: %.2000s\n%+v %v, want %+v %v", req, diff, r1, err1, r2, err2)
			}
		}
		for _, pattern := range []string{"**", "a/**", "node_modules/**", ".git/*", "["} {
			req := ops.GlobRequest{Root: f.dir, Path: f.dir, Pattern: pattern}
			got, want := []string{}, []string{}
			_, err1 := f.Glob(t.Context(), req, func(p string) bool { got = append(got, p); return true })
			_, err2 := match.Glob(t.Context(), system{}, match.GlobRequest(req), func(p string) bool { want = append(want, p); return true })
			if diff := cmp.Diff(want, got); diff != "" || (err1 == nil) != (err2 == nil) {
				t.Errorf("%s: %s %v %v", pattern, diff, err1, err2)
			}
		}
		before := f.runner.runs.Load()
		_, err := f.Search(t.Context(), ops.SearchRequest{Root: f.dir, Path: f.dir, Pattern: "filler"}, func(ops.SearchLine) bool { return true })
		must(t, err)
		if n := f.runner.runs.Load() - before; n > 6 {
			t.Errorf("%d round trips", n)
		}
		if _, err := os.Lstat(f.path("pwned")); err == nil {
			t.Error("a name ran as a command")
		}
		must(t, os.Symlink(f.out, f.path("leak")))
		_, err = f.Search(t.Context(), ops.SearchRequest{Root: f.dir, Path: f.path("leak"), Pattern: "x"}, nil)
		want(t, err, ops.ErrOutside)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = f.Search(ctx, ops.SearchRequest{Root: f.dir, Path: f.dir, Pattern: "x"}, nil)
		want(t, err, context.Canceled)
	})
}

// Of a pattern with alternatives only the files travel that hold one of their texts.
func TestGREP03AlternativesLeaveOtherFilesWhereTheyAre(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for i := range 600 {
			f.put(t, fmt.Sprintf("d%d/f%d", i%7, i), "nothing to see\n")
		}
		f.put(t, "d3/a", "the first one\n")
		f.put(t, "d5/b", "and the second\n")
		before := f.runner.runs.Load()
		var got []string
		req := ops.SearchRequest{Root: f.dir, Path: f.dir, Pattern: "(the|a) first|second$"}
		_, err := f.Search(t.Context(), req, func(l ops.SearchLine) bool { got = append(got, l.Path); return true })
		must(t, err)
		if n := f.runner.runs.Load() - before; n > 4 || strings.Join(got, " ") != "d3/a d5/b" {
			t.Errorf("%d round trips, %q", n, got)
		}
	})
}

// Every line that a random pattern matches holds one of the needed texts.
func TestGREP03EveryMatchHoldsANeededText(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	var pattern func(depth int) string
	pattern = func(depth int) string {
		if depth == 0 {
			return []string{"a", "b", "ab", "ſ", "k", "é", "[ab]", ".", "", "^", "$", `\b`, "(?i:ab)", "(?i:k)"}[random.IntN(14)]
		}
		l, r := pattern(depth-1), pattern(depth-1)
		return []string{l + r, l + r, "(" + l + "|" + r + ")", "(?:" + l + ")?" + r, "(" + l + ")+" + r, "(?:" + l + "){2,3}" + r, l + "|" + r}[random.IntN(7)]
	}
	alphabet := []rune("aAbBkK\u212asSſéÉ")
	matched := 0
	for range 20000 {
		req := ops.SearchRequest{Pattern: pattern(1 + random.IntN(4)), IgnoreCase: random.IntN(2) == 0}
		texts := needed(req)
		expr := req.Pattern
		if req.IgnoreCase {
			expr = "(?i:" + expr + ")"
		}
		re, err := regexp.Compile(expr)
		if err != nil || texts == "" {
			continue
		}
		for range 20 {
			line := make([]rune, random.IntN(8))
			for i := range line {
				line[i] = alphabet[random.IntN(len(alphabet))]
			}
			if !re.MatchString(string(line)) {
				continue
			}
			matched++
			if !holds(string(line), texts, req.IgnoreCase) {
				t.Fatalf("%q (ignoring case: %v) matches %q, which holds none of %q", req.Pattern, req.IgnoreCase, string(line), texts)
			}
		}
	}
	if matched < 1000 {
		t.Errorf("only %d lines matched", matched)
	}
}

// holds is grep -F in the C locale.
func holds(line, texts string, fold bool) bool {
	lower := func(s string) string {
		return strings.Map(func(r rune) rune {
			if fold && r >= 'A' && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}, s)
	}
	return slices.ContainsFunc(strings.Split(texts, "\n"), func(text string) bool { return strings.Contains(lower(line), lower(text)) })
}

// system is the machine's own file system.
type system struct{}

func (system) Stat(_ context.Context, p string) (fs.FileInfo, error) { return os.Stat(p) }

func (system) ReadFile(_ context.Context, p string, _ int64) ([]byte, error) { return os.ReadFile(p) }

func (system) ReadDir(_ context.Context, p string, yield func(fs.DirEntry) bool) error {
	entries, err := os.ReadDir(p)
	for _, e := range entries {
		if !yield(e) {
			break
		}
	}
	return err
}

package match

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSearchContextLimitAndBinary(t *testing.T) {
	files := map[string]string{
		"a.txt": "one\ntwo needle\nthree\nfour\nfive\nsix needle\nseven needle", "b.bin": "x\x00needle\n", "c/d.txt": "NEEDLE\r\n-foo\n", "e": "needle\n",
		"late.bin": strings.Repeat("needle\n", 3) + strings.Repeat("x\n", binaryHead) + "\x00\nneedle\nneedle\n", "quiet.bin": "\x00",
	}
	root := tree(t, files)
	for name, fsys := range map[string]FileSystem{"folder": folder{}, "memory": inMemory(files)} {
		at := map[string]string{"folder": root, "memory": "/"}[name]
		got, report := lines(t, fsys, SearchRequest{Root: at, Path: at, Pattern: "needle", Context: 1})
		want := []string{
			"a.txt-1-one", "a.txt:2:two needle", "a.txt-3-three", "a.txt-5-five", "a.txt:6:six needle", "a.txt:7:seven needle",
			"b.bin: binary", "e:1:needle", "late.bin:1:needle", "late.bin:2:needle", "late.bin:3:needle", "late.bin-4-x", "late.bin: binary",
		}
		if d := cmp.Diff(want, got); d != "" || report.Limited {
			t.Errorf("%s: %s %+v", name, d, report)
		}
		for limit, want := range map[int]bool{2: true, 7: true, 8: true, 9: false, 0: false} {
			got, report = lines(t, fsys, SearchRequest{Root: at, Path: at, Pattern: "needle", Limit: limit})
			if limit > 0 && len(got) != limit || limit == 0 && len(got) != 9 || report.Limited != want {
				t.Errorf("%s, limit %d: %d matches, %+v", name, limit, len(got), report)
			}
		}
		// The lines behind the last match are shown, those before the next are not.
		got, report = lines(t, fsys, SearchRequest{Root: at, Path: at, Pattern: "needle", Limit: 1, Context: 1})
		if d := cmp.Diff(want[:3], got); d != "" || !report.Limited {
			t.Errorf("%s, limit 1 with context: %s %+v", name, d, report)
		}
		got, _ = lines(t, fsys, SearchRequest{Root: at, Path: at, Pattern: "needle$", IgnoreCase: true, Glob: "c/**"})
		if !slices.Equal(got, []string{"c/d.txt:1:NEEDLE"}) {
			t.Errorf("%s: $ matches before a carriage return: %v", name, got)
		}
		got, _ = lines(t, fsys, SearchRequest{Root: at, Path: join(at, "c/d.txt"), Pattern: "needle", IgnoreCase: true})
		if !slices.Equal(got, []string{"d.txt:1:NEEDLE"}) {
			t.Errorf("%s: one file: %v", name, got)
		}
	}
}

func TestGREP01LongLine(t *testing.T) {
	long := "needle" + strings.Repeat("x", 3_000_000)
	root := tree(t, map[string]string{"a": "needle\n", "b": long, "c": "needle\n", "d": strings.Repeat("é", 2000) + "needle" + strings.Repeat("ü", 2000)})
	n := 0
	_, err := Search(t.Context(), folder{}, SearchRequest{Root: root, Path: root, Pattern: "needle", MaxLine: 500}, func(l SearchLine) bool {
		n++
		if c := len([]rune(l.Text)); c > 500 || !strings.Contains(l.Text, "needle") || l.Cut != (l.Path == "b" || l.Path == "d") || strings.Contains(l.Text, "\uFFFD") {
			t.Errorf("%s: %d characters, cut %v", l.Path, c, l.Cut)
		}
		return true
	})
	if err != nil || n != 4 {
		t.Errorf("%d matches, %v", n, err)
	}
}

// endless is a FileSystem with one file, a line of size bytes with a needle at
// the end and a short one behind it.
type endless struct {
	memory
	size int
}

func (e endless) Open(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(io.LimitReader(repeat("long text "), int64(e.size)), strings.NewReader("needle tail\nneedle\n"))), nil
}

type repeat string

func (r repeat) Read(p []byte) (int, error) {
	n := 0
	for n+len(r) <= len(p) {
		n += copy(p[n:], r)
	}
	if n == 0 {
		n = copy(p, r)
	}
	return n, nil
}

func TestGREP01MemoryDoesNotGrowWithTheLine(t *testing.T) {
	fsys := endless{inMemory(map[string]string{"f": ""}), 200_000_000}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var got []SearchLine
	report, err := Search(t.Context(), fsys, SearchRequest{Root: "/", Path: "/", Pattern: `ne+dle( tail)?$`, MaxLine: 20, Context: 1}, func(l SearchLine) bool {
		got = append(got, l)
		return true
	})
	runtime.ReadMemStats(&after)
	want := []SearchLine{{Path: "f", Line: 1, Text: "ng text needle tail", Cut: true}, {Path: "f", Line: 2, Text: "needle"}}
	if len(got) == 2 {
		want[0].Text = got[0].Text
	}
	if d := cmp.Diff(want, got); d != "" || err != nil || report.Unreadable > 0 {
		t.Errorf("%s %+v %v", d, report, err)
	}
	if len(got) == 2 && (!strings.HasSuffix(got[0].Text, "needle tail") || len(got[0].Text) != 20) {
		t.Errorf("text %q", got[0].Text)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated for a line of %d", used, fsys.size)
	}
}

func TestGREP02PatternThatLooksLikeAnOption(t *testing.T) {
	fsys := inMemory(map[string]string{"a": "-foo\n--pre=/tmp/evil.sh\n-v\n", "-rf/b": "-v\n"})
	for pattern, want := range map[string][]string{
		"-foo": {"a:1:-foo"}, "--pre=/tmp/evil.sh": {"a:2:--pre=/tmp/evil.sh"}, "-v": {"-rf/b:1:-v", "a:3:-v"},
	} {
		got, _ := lines(t, fsys, SearchRequest{Root: "/", Path: "/", Pattern: pattern})
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", pattern, d)
		}
	}
	if got, _ := lines(t, fsys, SearchRequest{Root: "/", Path: "/-rf", Pattern: "-v"}); !slices.Equal(got, []string{"b:1:-v"}) {
		t.Errorf("in -rf: %v", got)
	}
}

func TestGREP03FailuresAreTold(t *testing.T) {
	root := tree(t, map[string]string{"a": "needle\n", "b": "needle\n"})
	fsys := failing{folder{}, filepath.Join(root, "a")}
	got, report := lines(t, fsys, SearchRequest{Root: root, Path: root, Pattern: "needle"})
	if !slices.Equal(got, []string{"b:1:needle"}) || report.Unreadable != 1 {
		t.Errorf("%v, %+v", got, report)
	}
	if got, report := lines(t, fsys, SearchRequest{Root: root, Path: root, Pattern: "nothing has this"}); got != nil || report.Unreadable != 1 {
		t.Errorf("%v, %+v", got, report)
	}
	if _, err := Search(t.Context(), fsys, SearchRequest{Root: root, Path: filepath.Join(root, "a"), Pattern: "x"}, nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("unreadable file that was named: %v", err)
	}
	var bad *PatternError
	if _, err := Search(t.Context(), fsys, SearchRequest{Path: root, Pattern: "("}, nil); !asPattern(err, &bad) || !strings.Contains(err.Error(), "missing closing )") {
		t.Errorf("bad pattern: %v", err)
	}
	if _, err := Search(t.Context(), fsys, SearchRequest{Path: filepath.Join(root, "zz"), Pattern: "x"}, nil); !os.IsNotExist(err) {
		t.Errorf("missing path: %v", err)
	}
}

type failing struct {
	folder
	path string
}

func (f failing) Open(ctx context.Context, p string) (io.ReadCloser, error) {
	if p == f.path {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrPermission}
	}
	return f.folder.Open(ctx, p)
}

// GREP-04: nothing far behind the limit is opened.
func TestGREP04SearchStopsAtTheLimit(t *testing.T) {
	files := map[string]string{}
	for i := range 5000 {
		files[fmt.Sprintf("d%d/f%d", i%50, i)] = strings.Repeat("needle\n", 2000)
	}
	fsys := &counting{memory: inMemory(files)}
	got, report := lines(t, fsys, SearchRequest{Root: "/", Path: "/", Pattern: "needle", Limit: 1})
	if len(got) != 1 || !report.Limited {
		t.Errorf("%v, %+v", got, report)
	}
	if n := fsys.opened.Load(); n > 1000 {
		t.Errorf("%d files were opened for one match", n)
	}
}

// Search agrees with a plain implementation, whatever the lines and blocks.
func TestSearchAgreesWithReference(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	for range 25 {
		content := randomFile(r)
		fsys := inMemory(map[string]string{"f": content})
		req := SearchRequest{
			Root: "/", Path: "/", Pattern: []string{"needle", "(?i)NEEDLE", `n\w+e\b`, "x$", "^$", "needle|zz", "é+n"}[r.IntN(7)],
			Context: r.IntN(4), Limit: r.IntN(2) * r.IntN(20), MaxLine: 10 + r.IntN(400),
		}
		want, limited := reference(req, content)
		var got []SearchLine
		report, err := Search(t.Context(), fsys, req, func(l SearchLine) bool {
			checkText(t, req, l, content)
			l.Text, l.Path = "", ""
			got = append(got, l)
			return true
		})
		must(t, err)
		if d := cmp.Diff(want, got); d != "" || report.Limited != limited {
			t.Fatalf("%+v of %d bytes: limited %v, want %v\n%.3000s", req, len(content), report.Limited, limited, d)
		}
	}
}

// randomFile mixes short lines with lines that are longer than a block.
func randomFile(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(400) {
		switch r.IntN(60) {
		case 0:
			b.WriteString(strings.Repeat("long é ", r.IntN(100_000)))
		case 1:
			b.WriteString(strings.Repeat("s", blockSize-r.IntN(20)))
		}
		for range r.IntN(6) {
			b.WriteString([]string{"needle", "x", "é", "日本", "Needle ", "no", "\t", strings.Repeat("-", r.IntN(900))}[r.IntN(8)])
		}
		b.WriteString([]string{"\n", "\n", "\r\n"}[r.IntN(3)])
	}
	if r.IntN(2) == 0 {
		b.WriteString("needle at the end")
	}
	return b.String()
}

// reference lists what a search finds in one file, without texts.
func reference(req SearchRequest, content string) (want []SearchLine, limited bool) {
	re := regexp.MustCompile(req.Pattern)
	all := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	if content == "" {
		return nil, false
	}
	kind := make([]int, len(all)) // 1 context, 2 match
	matches := 0
	for i, line := range all {
		if !re.MatchString(line) && !re.MatchString(strings.TrimSuffix(line, "\r")) {
			continue
		}
		if req.Limit > 0 && matches == req.Limit {
			limited = true
			clear(kind[i:]) // the context of the last match ends before the next
			break
		}
		matches++
		for k := max(0, i-req.Context); k <= min(len(all)-1, i+req.Context); k++ {
			kind[k] = max(kind[k], 1)
		}
		kind[i] = 2
	}
	for i, k := range kind {
		if k > 0 {
			n := len([]rune(strings.TrimSuffix(all[i], "\r")))
			want = append(want, SearchLine{Line: i + 1, Context: k == 1, Cut: n > req.MaxLine})
		}
	}
	return want, limited
}

// checkText proves that the text of a line is the line, or the right part of it.
func checkText(t *testing.T, req SearchRequest, l SearchLine, content string) {
	t.Helper()
	line := strings.TrimSuffix(strings.Split(content, "\n")[l.Line-1], "\r")
	switch n := len([]rune(l.Text)); {
	case !l.Cut && l.Text != line:
		t.Fatalf("line %d: %q, want %q", l.Line, l.Text, line)
	case l.Cut && (n != req.MaxLine || !strings.Contains(line, l.Text)):
		t.Fatalf("line %d: %d characters, want %d of the line", l.Line, n, req.MaxLine)
	case l.Cut && !l.Context && strings.Contains(req.Pattern, "needle") && req.MaxLine > 20 && !strings.Contains(l.Text, "need"):
		t.Fatalf("line %d: no match in %q", l.Line, l.Text)
	}
}

func TestSearchIsTheSameEverywhere(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 6))
	files := map[string]string{".gitignore": "skip*\n!skip1\n"}
	for i := range 400 {
		dir := strings.Repeat([]string{"a/", "b/", "a-b/", "skip1/", "skip2/", ".h/"}[r.IntN(6)], 1+r.IntN(3))
		files[fmt.Sprintf("%sf%d", dir, i)] = strings.Repeat("x\nneedle\n", r.IntN(4))
	}
	root := tree(t, files)
	var want []string
	for i, fsys := range []FileSystem{folder{}, inMemory(files), &counting{memory: inMemory(files)}} {
		at := "/"
		if i == 0 {
			at = root
		}
		for _, workers := range []int{1, 2, 9} {
			var got, paths []string
			report, err := SearchWith(t.Context(), fsys, SearchRequest{Root: at, Path: at, Pattern: "needle", Context: 1}, Options{Workers: workers}, func(l SearchLine) bool {
				got, paths = append(got, show(l)), append(paths, l.Path)
				return true
			})
			if err != nil || report.Unreadable > 0 || len(got) == 0 || !inOrder(paths) {
				t.Fatalf("%d lines, %+v, %v", len(got), report, err)
			}
			if want == nil {
				want = got
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("file system %d, %d workers: %s", i, workers, d)
			}
		}
	}
}

// A file with more matches than fit in memory at once arrives in parts.
func TestSearchStreamsManyMatches(t *testing.T) {
	fsys := inMemory(map[string]string{"a": strings.Repeat("needle\n", 50_000), "b": strings.Repeat("needle\n", 50_000)})
	next := map[string]int{}
	_, err := Search(t.Context(), fsys, SearchRequest{Root: "/", Path: "/", Pattern: "n"}, func(l SearchLine) bool {
		next[l.Path]++
		if l.Line != next[l.Path] || l.Path == "a" && next["b"] > 0 {
			t.Fatalf("%s:%d after %d", l.Path, l.Line, next[l.Path]-1)
		}
		return true
	})
	if err != nil || next["a"] != 50_000 || next["b"] != 50_000 {
		t.Errorf("%v, %v", next, err)
	}
}

func TestExplicitFileIsSearchedThoughIgnored(t *testing.T) {
	fsys := inMemory(map[string]string{".gitignore": "*.log\n", "x.log": "needle", "d/y.log": "needle", "d/z": "needle", ".git/config": "needle", "s/.git": "gitdir: x needle\n"})
	for start, want := range map[string][]string{
		"/": {"d/z:1:needle"}, "/x.log": {"x.log:1:needle"}, "/.git": {"config:1:needle"}, "/s/.git": {".git:1:gitdir: x needle"}, "/d/": {"z:1:needle"},
	} {
		got, _ := lines(t, fsys, SearchRequest{Root: "/", Path: start, Pattern: "needle"})
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", start, d)
		}
	}
}

func TestEmptyLinesAndEnds(t *testing.T) {
	for content, want := range map[string][]string{
		"":          nil,
		"\n":        {"f:1:"},
		"a\n":       nil,
		"a\n\n":     {"f:2:"},
		"a\n\n\nb":  {"f:2:", "f:3:"},
		"\r\na\r\n": {"f:1:"},
	} {
		if got, _ := lines(t, inMemory(map[string]string{"f": content}), SearchRequest{Root: "/", Path: "/", Pattern: "^$"}); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", content, got, want)
		}
	}
	long := bytes.Repeat([]byte("y"), blockSize)
	for _, tail := range []string{"", "\n", "x", "x\n", "\nx", "x\nx", "\n\nx"} {
		content := string(long) + tail
		want, _ := reference(SearchRequest{Pattern: "x$", MaxLine: 5}, content)
		got, _ := lines(t, inMemory(map[string]string{"f": content}), SearchRequest{Root: "/", Path: "/", Pattern: "x$", MaxLine: 5})
		if len(got) != len(want) {
			t.Errorf("a block and %q: %v, want %d lines", tail, got, len(want))
		}
	}
}

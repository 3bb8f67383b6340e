package match

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// globTokens are what a fuzzed glob is made of, so that each is in the grammar
// that the naive matcher knows.
var globTokens = []string{
	"a", "b", "ab", "c.go", ".h", "é", "*", "?", "**/", "/**", "/", "/", "[ab]", "[!a]", "[a-c]", "{a,b}", "{a/b,c*}", "{,b}", `\a`, `\*`, "./", ".git",
}

func fuzzedGlob(choice []byte) string {
	var b strings.Builder
	for _, c := range choice[:min(len(choice), 8)] {
		b.WriteString(globTokens[int(c)%len(globTokens)])
	}
	return b.String()
}

// naiveGlob says what a glob matches by expanding and trying everything.
func naiveGlob(pattern, rel string, isDir bool) bool {
	rest := pattern
	for rest != "/" && (strings.HasSuffix(rest, "/") || strings.HasSuffix(rest, "/.")) {
		rest = strings.TrimSuffix(strings.TrimSuffix(rest, "."), "/")
	}
	if rest != pattern && !isDir {
		return false
	}
	pattern = rest
	if !strings.Contains(pattern, "/") {
		rel = path.Base(rel)
	}
	for strings.HasPrefix(pattern, "./") || strings.HasPrefix(pattern, "/") {
		pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "."), "/")
	}
	var segments []string // an empty one and "." say nothing
	for _, s := range strings.Split(pattern, "/") {
		if s != "" && s != "." {
			segments = append(segments, s)
		}
	}
	return slices.ContainsFunc(expandBraces(strings.Join(segments, "/")), func(p string) bool {
		return matchSegments(strings.Split(p, "/"), strings.Split(rel, "/"))
	})
}

// expandBraces writes out the alternatives, which are not nested here.
func expandBraces(p string) []string {
	before, rest, ok := strings.Cut(p, "{")
	if !ok {
		return []string{p}
	}
	inner, after, _ := strings.Cut(rest, "}")
	var all []string
	for alt := range strings.SplitSeq(inner, ",") {
		all = append(all, expandBraces(before+alt+after)...)
	}
	return all
}

func matchSegments(want, names []string) bool {
	if len(want) == 0 {
		return len(names) == 0
	}
	if want[0] == "**" {
		return matchSegments(want[1:], names) || len(names) > 0 && matchSegments(want, names[1:])
	}
	return len(names) > 0 && matchName([]rune(want[0]), []rune(names[0])) && matchSegments(want[1:], names[1:])
}

func matchName(want, name []rune) bool {
	if len(want) == 0 {
		return len(name) == 0
	}
	switch want[0] {
	case '*':
		return matchName(want[1:], name) || len(name) > 0 && matchName(want, name[1:])
	case '[':
		end := slices.Index(want, ']')
		class := string(want[1:end])
		if len(name) == 0 {
			return false
		}
		in := map[string]string{"ab": "ab", "!a": "a", "a-c": "abc"}[class]
		return strings.ContainsRune(in, name[0]) != strings.HasPrefix(class, "!") && matchName(want[end+1:], name[1:])
	case '?':
		return len(name) > 0 && matchName(want[1:], name[1:])
	case '\\':
		want = want[1:]
	}
	return len(name) > 0 && name[0] == want[0] && matchName(want[1:], name[1:])
}

// A glob finds what the naive matcher finds, in the package's order.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"\x06\x03", "\x08\x06", "\x00\x09", "\x00\x0a\x06", "\x0f\x0a\x03", "\x10", "\x14\x00\x0a\x01", "\x0c\x06\x09", "\x15\x0a\x06", "\x04\x09", "\x12", "\x08\x00\x0a\x08\x03", "\x0e\x07"} {
		f.Add([]byte(s))
	}
	files := map[string]string{}
	for _, dir := range []string{"", "a/", "b/", "ab/", "a/b/", "a/b/c/", ".h/", "a/.h/", "b/a/", "é/", "x/.git/", ".git/"} {
		for _, name := range []string{"a", "b", "c.go", ".h", "é", "*", "abc", "c"} {
			if _, folder := files[dir+name+"/"]; !folder && !slices.Contains([]string{"a", "b", "ab", "a/b", "a/b/c", ".h", "a/.h", "b/a", "é"}, dir+name) {
				files[dir+name] = ""
			}
		}
	}
	fsys := inMemory(files)
	var all []string // with folders
	for name := range files {
		for p := name; p != "."; p = path.Dir(p) {
			if entry := p + strings.Repeat("/", min(1, len(name)-len(p))); !slices.Contains(all, entry) {
				all = append(all, entry)
			}
		}
	}
	f.Fuzz(func(t *testing.T, choice []byte) {
		pattern := fuzzedGlob(choice)
		var bad *PatternError
		if _, err := parseGlob(pattern); err != nil {
			if !asPattern(err, &bad) {
				t.Fatalf("%q: %v", pattern, err)
			}
			return
		}
		if len(expandBraces(pattern)) > maxAlternatives {
			t.Skip() // the library's own rules
		}
		git := slices.Contains(strings.Split(pattern, "/"), gitFolder)
		var want []string
		for _, entry := range all {
			rel, isDir := strings.CutSuffix(entry, "/")
			if !git && slices.Contains(strings.Split(rel, "/"), gitFolder) {
				continue
			}
			if naiveGlob(pattern, rel, isDir) {
				want = append(want, entry)
			}
		}
		got := globs(t, fsys, "/", "/", pattern)
		if !inOrder(got) {
			t.Errorf("%q: not in order: %q", pattern, got)
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: naive -, we +\n%s", pattern, d)
		}
	})
}

// A search finds, line by line, what regexp finds.
func FuzzSearch(f *testing.F) {
	f.Add("needle", "x needle\nno\r\nneedle", uint8(1), uint8(0))
	f.Add(`^$|b+\b`, "\n\nabb b\r\n", uint8(0), uint8(2))
	f.Add("(?i)É+", "éé\nÉ\xff\n", uint8(3), uint8(1))
	f.Add(`\s$`, "a \nb\t\nc", uint8(2), uint8(0))
	f.Fuzz(func(t *testing.T, pattern, content string, context, limit uint8) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 60 || len(content) > 2000 || asksForLineEnds(re.String()) || strings.ContainsRune(content, 0) {
			t.Skip()
		}
		if strings.HasPrefix(content, "\xff\xfe") || strings.HasPrefix(content, "\xfe\xff") || strings.Contains(content, "\r") && !onlyAtEnds(content) {
			t.Skip() // binary, or a bare "\r", which the oracle does not know
		}
		req := SearchRequest{Root: "/", Path: "/", Pattern: pattern, Context: int(context % 4), Limit: int(limit % 8), MaxLine: 5000}
		var got []SearchLine
		report, err := Search(t.Context(), inMemory(map[string]string{"f": content}), req, func(l SearchLine) bool {
			checkText(t, req, l, content)
			got = append(got, SearchLine{Line: l.Line, Context: l.Context, Cut: l.Cut})
			return true
		})
		want, limited := reference(req, content)
		if d := cmp.Diff(want, got); d != "" || err != nil || report.Limited != limited {
			t.Errorf("%q in %q: %v %+v\n%s", pattern, content, err, report, d)
		}
	})
}

func onlyAtEnds(content string) bool {
	return strings.Count(content, "\r") == strings.Count(content, "\r\n")
}

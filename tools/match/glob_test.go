package match

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func globTree() map[string]string {
	return map[string]string{
		"a.go": "", "b/c.go": "", "b/d/e.go": "", "b/d/f.txt": "", ".github/workflows/ci.yml": "", ".gitignore": "out/\n*.log\n!keep.log\n",
		"out/x.go": "", "y.log": "", "keep.log": "", "b/.gitignore": "d/\n", "n/.git/HEAD": "", "n/y.log": "", "b-x/z.go": "", "empty/": "",
		"[odd]/q{r}.txt": "", ".piremote-0123456789abcdef.tmp": "", "b/.piremote-tmp-x1": "", ".piremote-notes": "",
	}
}

func TestGlob(t *testing.T) {
	root := tree(t, globTree())
	for pattern, want := range map[string][]string{
		"*.go":                    {"a.go", "b/c.go", "b-x/z.go"},
		"**/*.go":                 {"a.go", "b/c.go", "b-x/z.go"},
		"b/**":                    {"b/", "b/.gitignore", "b/c.go"},
		"b/**/*.go":               {"b/c.go"},
		"b*/**":                   {"b/", "b/.gitignore", "b/c.go", "b-x/", "b-x/z.go"},
		"b*/**/**":                {"b/", "b/.gitignore", "b/c.go", "b-x/", "b-x/z.go"},
		"./b*[!x]c.go":            nil, // a class is no slash
		"./a.go*{,x}":             {"a.go"},
		"./a.go***":               {"a.go"},
		"b/.":                     {"b/"},
		"b/*":                     {"b/.gitignore", "b/c.go"},
		"./a.go":                  {"a.go"},
		"/a.go":                   {"a.go"},
		"./c.go":                  nil,
		"b/c.go":                  {"b/c.go"},
		"b//./c.go":               {"b/c.go"},
		"c.go":                    {"b/c.go"},
		".github/workflows/*.yml": {".github/workflows/ci.yml"},
		"*.log":                   {"keep.log", "n/y.log"},
		"b*/":                     {"b/", "b-x/"},
		"**/d/":                   nil,
		"{a,zz}.go":               {"a.go"},
		"{b,b-x}/*.go":            {"b/c.go", "b-x/z.go"},
		"{b/c,a}.go":              {"a.go", "b/c.go"},
		"[a-c].go":                {"a.go", "b/c.go"},
		"[!a].go":                 {"b/c.go", "b-x/z.go"},
		`\[odd\]/q\{r\}.txt`:      {"[odd]/q{r}.txt"},
		"nothing":                 nil,
		"-delete":                 nil,
		"out/*":                   nil, // ignored stays out
		".git/*":                  nil, // the only .git is further down
		"**/.git/*":               {"n/.git/HEAD"},
		"HEAD":                    nil,
		"empty":                   {"empty/"},
		".piremote-*":             {".piremote-notes"},
		root + "/b*/*.go":         {"b/c.go", "b-x/z.go"},
	} {
		got := globs(t, folder{}, root, root, pattern)
		if d := cmp.Diff(want, got); d != "" || !inOrder(got) {
			t.Errorf("%s: %s", pattern, d)
		}
	}
	// An ignored folder that is named is searched; the rules above it count for the rest.
	if got := globs(t, folder{}, root, filepath.Join(root, "out"), "*.go"); !slices.Equal(got, []string{"x.go"}) {
		t.Errorf("in out: %v", got)
	}
	if got := globs(t, folder{}, root, filepath.Join(root, "b"), "**"); !slices.Equal(got, []string{".gitignore", "c.go"}) {
		t.Errorf("in b: %v", got)
	}
	if got := globs(t, folder{}, root, filepath.Join(root, "n/.git")+"/", "*"); !slices.Equal(got, []string{"HEAD"}) {
		t.Errorf("in .git: %v", got)
	}
}

func TestGlobErrors(t *testing.T) {
	root := tree(t, globTree())
	none := func(string) bool { t.Error("yield was called"); return true }
	for _, pattern := range []string{"[a", "{a", "", `a\`, "a/[b/c"} {
		var bad *PatternError
		if _, err := Glob(t.Context(), folder{}, GlobRequest{Path: root, Pattern: pattern}, none); !asPattern(err, &bad) || bad.Kind != "glob" || bad.Pattern != pattern {
			t.Errorf("%q: %v", pattern, err)
		}
		if _, err := Search(t.Context(), folder{}, SearchRequest{Path: root, Pattern: "x", Glob: pattern}, nil); pattern != "" && !asPattern(err, &bad) {
			t.Errorf("search with glob %q: %v", pattern, err)
		}
	}
	if _, err := Glob(t.Context(), folder{}, GlobRequest{Path: filepath.Join(root, "zz"), Pattern: "*"}, none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := Glob(t.Context(), folder{}, GlobRequest{Path: filepath.Join(root, "a.go"), Pattern: "*"}, none); !errors.Is(err, ErrNotDir) {
		t.Errorf("a file: %v", err)
	}
}

func TestGlobLimitAndStop(t *testing.T) {
	fsys := inMemory(globTree())
	for limit, want := range map[int]bool{1: true, 2: true, 3: false, 0: false} {
		n := 0
		report, err := Glob(t.Context(), fsys, GlobRequest{Root: "/", Path: "/", Pattern: "*.go", Limit: limit}, func(string) bool { n++; return true })
		if err != nil || report.Limited != want || limit > 0 && n != limit || limit == 0 && n != 3 {
			t.Errorf("limit %d: %d results, %+v, %v", limit, n, report, err)
		}
	}
	n := 0
	report, err := Glob(t.Context(), fsys, GlobRequest{Root: "/", Path: "/", Pattern: "**"}, func(string) bool { n++; return n < 2 })
	if err != nil || n != 2 || report.Limited {
		t.Errorf("stopped: %d results, %+v, %v", n, report, err)
	}
}

// Only folders that can hold a match are listed.
func TestGlobListsNoMoreThanItMust(t *testing.T) {
	files := map[string]string{"a/b/c/x.go": "", "a/x.go": ""}
	for i := range 50 {
		files[fmt.Sprintf("other%d/deep/y", i)] = ""
	}
	for pattern, most := range map[string]int64{"a/b/c/*.go": 4, "a/*.go": 2, "a/**": 4, "*/x.go": 52, "**": 104} {
		fsys := inMemory(files)
		globs(t, fsys, "/", "/", pattern)
		if n := fsys.listed.Load(); n > most {
			t.Errorf("%s: %d folders were listed, %d would do", pattern, n, most)
		}
	}
}

func TestGlobWithoutRulesSaysSo(t *testing.T) {
	fsys := inMemory(globTree())
	n := 0
	report, err := Glob(t.Context(), struct{ Lister }{fsys}, GlobRequest{Root: "/", Path: "/", Pattern: "*.log"}, func(string) bool { n++; return true })
	if err != nil || n != 3 || !slices.Equal(report.Notes, []string{noteNoRules}) {
		t.Errorf("%d results, %+v, %v", n, report, err)
	}
}

func TestFIND03LinksAreNotFollowedAndFIFOsNotOpened(t *testing.T) {
	root := tree(t, map[string]string{"1/a.go": "needle\n", "2/b.go": ""})
	must(t, os.Symlink("..", filepath.Join(root, "1/loop")))
	must(t, os.Symlink("../", filepath.Join(root, "2/loop")))
	must(t, os.Symlink("/", filepath.Join(root, "2/root")))
	must(t, os.Symlink("a.go", filepath.Join(root, "1/link.go")))
	if out, err := exec.CommandContext(t.Context(), "mkfifo", filepath.Join(root, "p")).CombinedOutput(); err != nil {
		t.Fatalf("mkfifo: %s", out)
	}
	if got := globs(t, folder{}, root, root, "**/*.go"); !slices.Equal(got, []string{"1/a.go", "1/link.go", "2/b.go"}) {
		t.Errorf("%v", got)
	}
	// READ-03: the FIFO has no writer, so opening it would block for ever.
	if got, _ := lines(t, folder{}, SearchRequest{Root: root, Path: root, Pattern: "needle"}); !slices.Equal(got, []string{"1/a.go:1:needle"}) {
		t.Errorf("%v", got)
	}
	// A link that is named is searched.
	if got, _ := lines(t, folder{}, SearchRequest{Root: root, Path: filepath.Join(root, "1/link.go"), Pattern: "needle"}); !slices.Equal(got, []string{"link.go:1:needle"}) {
		t.Errorf("%v", got)
	}
	if got, _ := lines(t, folder{}, SearchRequest{Root: root, Path: filepath.Join(root, "2/loop/1"), Pattern: "needle"}); !slices.Equal(got, []string{"a.go:1:needle"}) {
		t.Errorf("%v", got)
	}
	if _, err := Search(t.Context(), folder{}, SearchRequest{Root: root, Path: filepath.Join(root, "p"), Pattern: "x"}, nil); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a FIFO: %v", err)
	}
}

func TestFIND03UnreadableFoldersAreCountedAndTheirPartKept(t *testing.T) {
	fsys := inMemory(map[string]string{"a/x": "", "b/x": "", "c/x": "", ".gitignore": "c\n"})
	fsys.fail["/a"] = fs.ErrPermission
	fsys.fail["/.gitignore"] = fs.ErrPermission
	var got []string
	report, err := Glob(t.Context(), fsys, GlobRequest{Root: "/", Path: "/", Pattern: "x"}, func(p string) bool { got = append(got, p); return true })
	if err != nil || report.Unreadable != 2 || !slices.Equal(got, []string{"a/x", "b/x", "c/x"}) {
		t.Errorf("%v, %+v, %v", got, report, err)
	}
	fsys.fail["/"] = fs.ErrPermission
	if _, err := Glob(t.Context(), fsys, GlobRequest{Root: "/", Path: "/", Pattern: "x"}, nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("unreadable start: %v", err)
	}
}

func TestGlobStopsWhenCancelled(t *testing.T) {
	files := map[string]string{}
	for i := range 3000 {
		files[fmt.Sprintf("d%d/f", i)] = ""
	}
	fsys := inMemory(files)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err := Glob(ctx, fsys, GlobRequest{Root: "/", Path: "/", Pattern: "f"}, func(string) bool { n++; cancel(); return true })
	if !errors.Is(err, context.Canceled) || n != 1 || fsys.listed.Load() > 50 {
		t.Errorf("%d results, %d folders, %v", n, fsys.listed.Load(), err)
	}
}

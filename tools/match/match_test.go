package match

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder is a FileSystem over the machine's own files.
type folder struct{}

func (folder) Stat(_ context.Context, p string) (fs.FileInfo, error) { return os.Stat(p) }
func (folder) ReadFile(_ context.Context, p string, _ int64) ([]byte, error) {
	return os.ReadFile(p)
}
func (folder) Open(_ context.Context, p string) (io.ReadCloser, error) { return os.Open(p) }
func (folder) ReadDir(_ context.Context, p string, yield func(fs.DirEntry) bool) error {
	entries, err := os.ReadDir(p)
	for _, e := range entries {
		if !yield(e) {
			break
		}
	}
	return err
}

// tree writes files below a new folder; a name that ends in "/" is a folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		p := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(p, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(content), 0o644))
	}
	return root
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func globs(t testing.TB, root, start, pattern string) []string {
	t.Helper()
	var got []string
	_, err := Glob(t.Context(), folder{}, GlobRequest{Root: root, Path: start, Pattern: pattern}, func(p string) bool {
		got = append(got, p)
		return true
	})
	must(t, err)
	return got
}

func lines(t testing.TB, req SearchRequest) ([]string, SearchReport) {
	t.Helper()
	var got []string
	report, err := Search(t.Context(), folder{}, req, func(l SearchLine) bool {
		sep := ":"
		if l.Context {
			sep = "-"
		}
		if l.Binary {
			l.Text = "binary"
		}
		got = append(got, fmt.Sprintf("%s%s%d%s%s", l.Path, sep, l.Line, sep, l.Text))
		return true
	})
	must(t, err)
	return got, report
}

func TestGlob(t *testing.T) {
	root := tree(t, map[string]string{
		"a.go": "", "b/c.go": "", "b/d/e.go": "", "b/d/f.txt": "", ".github/workflows/ci.yml": "", ".gitignore": "out/\n*.log\n!keep.log\n",
		"out/x.go": "", "y.log": "", "keep.log": "", "b/.gitignore": "d/\n", "n/.git/HEAD": "", "n/y.log": "", "b-x/z.go": "",
	})
	for pattern, want := range map[string][]string{
		"*.go":                    {"a.go", "b/c.go", "b-x/z.go"},
		"**/*.go":                 {"a.go", "b/c.go", "b-x/z.go"},
		"b/**":                    {"b/", "b/.gitignore", "b/c.go"},
		"./a.go":                  {"a.go"},
		"b/c.go":                  {"b/c.go"},
		".github/workflows/*.yml": {".github/workflows/ci.yml"},
		"*.log":                   {"keep.log", "n/y.log"},
		"b*/":                     {"b/", "b-x/"},
		"{a,zz}.go":               {"a.go"},
		"nothing":                 nil,
		"-delete":                 nil,
	} {
		if d := cmp.Diff(want, globs(t, root, root, pattern)); d != "" {
			t.Errorf("%s: %s", pattern, d)
		}
	}
	// An ignored folder that is named is searched.
	if got := globs(t, root, filepath.Join(root, "out"), "*.go"); !slices.Equal(got, []string{"x.go"}) {
		t.Errorf("in out: %v", got)
	}
	var bad *PatternError
	_, err := Glob(t.Context(), folder{}, GlobRequest{Path: root, Pattern: "[a"}, func(string) bool { return true })
	if !asPattern(err, &bad) {
		t.Errorf("bad glob: %v", err)
	}
}

func asPattern(err error, target **PatternError) bool {
	e, ok := err.(*PatternError) //nolint:errorlint // it is returned bare
	*target = e
	return ok
}

func TestSearchContextLimitAndBinary(t *testing.T) {
	root := tree(t, map[string]string{
		"a.txt": "one\ntwo needle\nthree\nfour\nfive\nsix needle\nseven needle", "b.bin": "x\x00needle\n", "c/d.txt": "NEEDLE\r\n-foo\n", "e": "needle\n",
	})
	got, report := lines(t, SearchRequest{Root: root, Path: root, Pattern: "needle", Context: 1})
	want := []string{
		"a.txt-1-one", "a.txt:2:two needle", "a.txt-3-three", "a.txt-5-five", "a.txt:6:six needle", "a.txt:7:seven needle",
		"b.bin:0:binary", "e:1:needle",
	}
	if d := cmp.Diff(want, got); d != "" || report.Limited {
		t.Errorf("%s %+v", d, report)
	}
	got, report = lines(t, SearchRequest{Root: root, Path: root, Pattern: "needle", Limit: 2})
	if len(got) != 2 || !report.Limited {
		t.Errorf("limit 2: %v %+v", got, report)
	}
	got, report = lines(t, SearchRequest{Root: root, Path: root, Pattern: "needle", Limit: 5})
	if len(got) != 5 || report.Limited {
		t.Errorf("limit 5 of 5: %v %+v", got, report)
	}
	got, _ = lines(t, SearchRequest{Root: root, Path: root, Pattern: "needle$", IgnoreCase: true, Glob: "c/**"})
	if len(got) != 0 {
		t.Errorf("a carriage return is part of the line: %v", got)
	}
	got, _ = lines(t, SearchRequest{Root: root, Path: filepath.Join(root, "c/d.txt"), Pattern: "needle", IgnoreCase: true})
	if !slices.Equal(got, []string{"d.txt:1:NEEDLE"}) {
		t.Errorf("one file: %v", got)
	}
	// Hazard GREP-02: a pattern that looks like an option is a pattern.
	got, _ = lines(t, SearchRequest{Root: root, Path: root, Pattern: "-foo"})
	if !slices.Equal(got, []string{"c/d.txt:2:-foo"}) {
		t.Errorf("-foo: %v", got)
	}
}

func TestGREP01LongLine(t *testing.T) {
	long := "needle" + strings.Repeat("x", 3_000_000)
	root := tree(t, map[string]string{"a": "needle\n", "b": long, "c": "needle\n", "d": strings.Repeat("é", 2000) + "needle" + strings.Repeat("ü", 2000)})
	n := 0
	_, err := Search(t.Context(), folder{}, SearchRequest{Root: root, Path: root, Pattern: "needle", MaxLine: 500}, func(l SearchLine) bool {
		n++
		if c := len([]rune(l.Text)); c > 500 || !strings.Contains(l.Text, "needle") || l.Cut != (l.Path == "b" || l.Path == "d") {
			t.Errorf("%s: %d characters, cut %v", l.Path, c, l.Cut)
		}
		return true
	})
	if err != nil || n != 4 {
		t.Errorf("%d matches, %v", n, err)
	}
}

func TestGREP03FailuresAreTold(t *testing.T) {
	root := tree(t, map[string]string{"a": "needle\n", "b": "needle\n"})
	fsys := failing{folder{}, filepath.Join(root, "a")}
	n := 0
	report, err := Search(t.Context(), fsys, SearchRequest{Root: root, Path: root, Pattern: "needle"}, func(SearchLine) bool { n++; return true })
	if err != nil || n != 1 || report.Unreadable != 1 {
		t.Errorf("%d matches, %+v, %v", n, report, err)
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

func TestFIND03LinksAreNotFollowedAndFIFOsNotOpened(t *testing.T) {
	root := tree(t, map[string]string{"1/a.go": "needle\n", "2/b.go": ""})
	must(t, os.Symlink("..", filepath.Join(root, "1/loop")))
	must(t, os.Symlink("/", filepath.Join(root, "2/root")))
	if out, err := exec.CommandContext(t.Context(), "mkfifo", filepath.Join(root, "p")).CombinedOutput(); err != nil {
		t.Fatalf("mkfifo: %s", out)
	}
	if got := globs(t, root, root, "**/*.go"); !slices.Equal(got, []string{"1/a.go", "2/b.go"}) {
		t.Errorf("%v", got)
	}
	if got, _ := lines(t, SearchRequest{Root: root, Path: root, Pattern: "needle"}); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// The rules agree with git on random ignore files.
func TestIgnoreRulesAgreeWithGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	for range 40 {
		differential(t, git, r)
	}
}

func differential(t *testing.T, git string, r *rand.Rand) {
	atoms := []string{"a", "b", "ab", "*", "**", "?", "/", "/", "[ab]", "[!a]", "[a-c]", "[[:alpha:]]", "\\a", "\\*", "x y", ".", "*.o", "a*b", "[]a]", "[a", "\\"}
	names := []string{"a", "b", "ab", "abc", "x y", "a.o", ".a", "*", "ba"}
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	ignoreFile := func() string {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			if r.IntN(4) == 0 {
				b.WriteString("!")
			}
			for range 1 + r.IntN(4) {
				b.WriteString(pick(atoms))
			}
			b.WriteString(pick([]string{"", "", "", "/", " ", "\\ ", "\r"}) + "\n")
		}
		return b.String()
	}
	files := map[string]string{".gitignore": ignoreFile()}
	dirs := []string{""}
	for range 3 {
		dirs = append(dirs, path.Join(pick(dirs), pick(names)))
	}
	files[path.Join(pick(dirs), ".gitignore")] = ignoreFile()
	for range 12 {
		files[path.Join(pick(dirs), pick(names)+"z")] = ""
		files[path.Join(pick(dirs), pick(names), pick(names)+"q")] = ""
	}
	root := tree(t, files)
	run := func(stdin string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), git, args...)
		cmd.Dir, cmd.Stdin, cmd.WaitDelay = root, strings.NewReader(stdin), time.Second
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+root)
		out, err := cmd.Output()
		if ee, ok := err.(*exec.ExitError); err != nil && (!ok || ee.ExitCode() != 1) { //nolint:errorlint // it is returned bare
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	run("", "init", "-q")
	must(t, os.RemoveAll(filepath.Join(root, ".git/info")))
	var all []string
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(root, p); err == nil && rel != "." && !strings.HasPrefix(rel, ".git/") && rel != ".git" {
			if d.IsDir() {
				rel += "/"
			}
			all = append(all, rel)
		}
		return err
	}))
	ignored := strings.Split(strings.TrimSuffix(run(strings.ReplaceAll(strings.Join(all, "\x00")+"\x00", "/\x00", "\x00"), "check-ignore", "--no-index", "--stdin", "-z"), "\x00"), "\x00")
	var want []string
	for _, p := range all {
		if !slices.Contains(ignored, strings.TrimSuffix(p, "/")) {
			want = append(want, p)
		}
	}
	slices.Sort(want)
	got := globs(t, root, root, "**")
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		var show bytes.Buffer
		for name, content := range files {
			if strings.HasSuffix(name, ".gitignore") {
				fmt.Fprintf(&show, "%s: %q\n", name, content)
			}
		}
		t.Fatalf("git keeps -, we keep +\n%s\n%s", d, show.String())
	}
}

// The match sets equal those of ripgrep.
func TestSearchAgreesWithRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("rg is not installed")
	}
	src := filepath.Join(goroot(t), "src", "net")
	for _, pattern := range []string{"TODO", `\bTODO\b`, `func [A-Z]\w+\(ctx`, `[a-z]+ing\s+[a-z]+ed\b`, "^package", "x$", "(?i)deadline", ""} {
		if pattern == "" {
			continue
		}
		cmd := exec.CommandContext(t.Context(), rg, "--no-config", "--no-require-git", "--hidden", "-n", "--no-heading", "--sort", "path", "-e", pattern, "--", ".")
		cmd.Dir, cmd.WaitDelay = src, time.Second
		out, err := cmd.Output()
		must(t, err)
		want := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		for i := range want {
			want[i] = strings.TrimPrefix(want[i], "./")
		}
		got, _ := lines(t, SearchRequest{Root: src, Path: src, Pattern: pattern})
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: rg -, we +\n%.2000s", pattern, d)
		}
	}
}

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

func TestSearchStopsWhenCancelled(t *testing.T) {
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("d%d/f", i)] = "needle\n"
	}
	root := tree(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err := Search(ctx, folder{}, SearchRequest{Root: root, Path: root, Pattern: "needle"}, func(SearchLine) bool {
		n++
		cancel()
		return true
	})
	if err == nil || n > 1000 {
		t.Errorf("%d matches, %v", n, err)
	}
}

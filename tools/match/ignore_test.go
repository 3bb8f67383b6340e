package match

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

	"github.com/piremote/piremote/internal/require"
)

// gitIgnored asks git which of the paths below root are ignored.
func gitIgnored(t testing.TB, root string, paths []string) map[string]bool {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		git(t, root, "", "init", "-q", "--template=")
	}
	out := git(t, root, strings.Join(paths, "\x00")+"\x00", "check-ignore", "--no-index", "--stdin", "-z")
	ignored := map[string]bool{}
	for p := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		ignored[p] = true
	}
	return ignored
}

func git(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	name, err := exec.LookPath("git")
	if err != nil {
		require.Missing(t, "git", "package git")
	}
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = dir, strings.NewReader(stdin), time.Second
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "HOME="+dir, "LC_ALL=C")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

// agreesWithGit compares what we find below root with what git does not ignore.
func agreesWithGit(t testing.TB, root string, files map[string]string) {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, p)
		switch {
		case err != nil || rerr != nil:
			return errors.Join(err, rerr)
		case rel == ".git":
			return fs.SkipDir
		case rel != ".":
			all = append(all, rel)
		}
		return nil
	}))
	ignored := gitIgnored(t, root, all)
	var want []string
	for _, p := range all {
		if !ignored[p] {
			want = append(want, p)
		}
	}
	got := globs(t, folder{}, root, root, "**")
	for i := range got {
		got[i] = strings.TrimSuffix(got[i], "/")
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		var show strings.Builder
		for _, name := range slices.Sorted(maps.Keys(files)) {
			top, _, _ := strings.Cut(name, "/")
			if strings.HasSuffix(name, ".gitignore") && strings.Contains(d, top+"/") {
				fmt.Fprintf(&show, "%s: %q\n", name, files[name])
			}
		}
		t.Fatalf("git keeps -, we keep +\n%.4000s\n%.4000s", d, show.String())
	}
}

// Some thousand decisions on random ignore files, with one run of git.
func TestIgnoreRulesAgreeWithGit(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	files := map[string]string{}
	for i := range 250 {
		randomIgnoreCase(r, fmt.Sprintf("case%d", i), files)
	}
	agreesWithGit(t, tree(t, files), files)
}

// randomIgnoreCase adds a folder with ignore files at some levels.
func randomIgnoreCase(r *rand.Rand, top string, files map[string]string) {
	atoms := []string{
		"a", "b", "ab", "*", "**", "?", "/", "/", "[ab]", "[!a]", "[^b]", "[a-c]", "[[:alpha:]]", "[[:digit:]x]", "\\a", "\\*", "\\ ", "x y", ".", "*.o",
		"a*b", "[]a]", "[!]a]", "[a", "\\", "[a\\]b]", "#", "é", "[é]", "/**/", "**/", "/**", "[[:nope:]]", "[a-]", "[-a]", "\t", "!", "A", "[b-a]",
	}
	names := []string{"a", "b", "ab", "abc", "x y", "a.o", ".a", "*", "ba", "#a", "!a", "é", "A", "a ", "1", "]", "-", "x", "aXb"}
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	ignoreFile := func() string {
		var b strings.Builder
		if r.IntN(10) == 0 {
			b.WriteString("\uFEFF")
		}
		eol := []string{"\n", "\n", "\r\n"}[r.IntN(3)]
		for range 1 + r.IntN(5) {
			if r.IntN(4) == 0 {
				b.WriteString("!")
			}
			for range 1 + r.IntN(4) {
				b.WriteString(pick(atoms))
			}
			b.WriteString(pick([]string{"", "", "", "/", " ", "  ", "\\ ", "\r", "\t", "/ "}) + eol)
		}
		text := b.String()
		if r.IntN(3) == 0 {
			text = strings.TrimSuffix(text, eol)
		}
		return text
	}
	dirs := []string{top}
	for range 4 {
		dirs = append(dirs, path.Join(pick(dirs), pick(names)))
	}
	files[path.Join(top, ".gitignore")] = ignoreFile()
	for range r.IntN(3) {
		files[path.Join(pick(dirs), ".gitignore")] = ignoreFile()
	}
	for _, d := range dirs {
		files[d+"/"] = ""
	}
	for range 16 {
		// A file's name is no folder's, which all lack the tail.
		files[path.Join(pick(dirs), pick(names)+pick([]string{"z", "Q.o", "b~"}))] = ""
	}
}

func FuzzIgnoreRules(f *testing.F) {
	for _, s := range []string{"*.o\n!a.o\n", "/a/**/b\r\n", "[[:alpha:]]\\ \n", "a/\n!a/b\n", "\uFEFFa\n**/b/\n", "a/**\n!a/b/\n"} {
		f.Add([]byte(s), []byte("b\n"))
	}
	root := tree(f, map[string]string{"a/b/a": "", "a/b/c.o": "", "a/a.o": "", "a.o": "", "b": "", "x y": "", "c/b/a b": "", "c/d/": "", "A": "", ".h/[a]": ""})
	gitIgnored(f, root, []string{"a"})
	f.Fuzz(func(t *testing.T, top, nested []byte) {
		if slices.Contains(top, 0) || slices.Contains(nested, 0) {
			t.Skip() // text only
		}
		must(t, os.WriteFile(filepath.Join(root, ".gitignore"), top, 0o600))
		must(t, os.WriteFile(filepath.Join(root, "a/.gitignore"), nested, 0o600))
		agreesWithGit(t, root, map[string]string{"a/.gitignore": string(nested), "/.gitignore": string(top)})
	})
}

func TestIgnoreFilesThatCount(t *testing.T) {
	files := map[string]string{
		".gitignore":            "*.log\n/top\n",
		".git/info/exclude":     "secret\n!no.log\n*.tmp\n",
		".ignore":               "kept\n",
		".rgignore":             "kept\n",
		"no.log":                "", // .gitignore goes before the exclude file
		"secret":                "",
		"kept":                  "",
		"top":                   "",
		"sub/top":               "",
		"sub/x.tmp":             "",
		"sub/.gitignore":        "!x.tmp\n*.txt\n",
		"sub/x.txt":             "",
		"x.txt":                 "",
		"nested/.git/config":    "",
		"nested/y.log":          "", // the rules above end here
		"nested/secret":         "",
		"nested/in/.gitignore":  "z\n",
		"nested/in/z":           "",
		"worktree/.git":         "gitdir: elsewhere\n",
		"worktree/w.log":        "",
		"dir/.gitignore":        "*\n!*/\n!keep\n",
		"dir/a/keep":            "",
		"dir/a/drop":            "",
		"folder/.gitignore/not": "",
	}
	want := []string{
		".gitignore", ".ignore", ".rgignore", "dir/", "dir/a/", "dir/a/keep", "folder/", "folder/.gitignore/", "folder/.gitignore/not", "kept",
		"nested/", "nested/in/", "nested/in/.gitignore", "nested/secret", "nested/y.log", "sub/", "sub/.gitignore", "sub/top", "sub/x.tmp",
		"worktree/", "worktree/w.log", "x.txt",
	}
	fsys := inMemory(files)
	if d := cmp.Diff(want, globs(t, fsys, "/", "/", "**")); d != "" {
		t.Error(d)
	}
	// Rules above the root don't count, those between root and start do.
	if got := globs(t, fsys, "/sub", "/sub", "*.{txt,tmp,log}"); !slices.Equal(got, []string{"x.tmp"}) {
		t.Errorf("root is sub: %v", got)
	}
	up := map[string]string{".gitignore": "*.a\n", "p/.gitignore": "*.b\n!1.a\n", "p/q/.gitignore": "*.c\n"}
	for _, n := range []string{"1.a", "2.a", "1.b", "1.c", "1.d"} {
		up["p/q/"+n] = ""
	}
	for root, want := range map[string][]string{
		"/": {"1.a", "1.d"}, "/p": {"1.a", "1.d", "2.a"}, "/p/q": {"1.a", "1.b", "1.d", "2.a"}, "/other": {"1.a", "1.b", "1.d", "2.a"}, "": {"1.a", "1.b", "1.d", "2.a"},
	} {
		if d := cmp.Diff(want, globs(t, inMemory(up), root, "/p/q", "?.?")); d != "" {
			t.Errorf("root %q: %s", root, d)
		}
	}
}

// A pattern that would be tried in exponentially many ways is decided soon.
func TestIgnorePatternThatExplodes(t *testing.T) {
	start := time.Now()
	if wildmatch(strings.Repeat("*a", 40)+"b", strings.Repeat("a", 2000), false) {
		t.Error("matches")
	}
	if wildmatch(strings.Repeat("**/a*", 12)+"b", strings.Repeat("aaaa/", 200), true) {
		t.Error("matches")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

package match

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/internal/require"
)

// ripgrep returns the sorted lines that rg prints below dir.
func ripgrep(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	rg, err := exec.LookPath("rg")
	if err != nil {
		require.Missing(t, "rg", "package ripgrep")
	}
	args = append([]string{
		"--no-config", "--no-require-git", "--no-ignore-dot", "--no-ignore-global", "--no-ignore-parent", "--hidden", "-n", "--no-heading", "--crlf", "-g", "!.git",
	}, args...)
	cmd := exec.CommandContext(t.Context(), rg, append(args, "--", ".")...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("rg %v: %v", args, err)
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\n"), "\n") {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "./"), "\r")
		if line != "" && line != "--" {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// textLines leaves out binary files, of which rg, told to search folders, does
// not speak.
func textLines(got []string) []string {
	got = slices.DeleteFunc(got, func(l string) bool { return strings.HasSuffix(l, ": binary") })
	slices.Sort(got)
	return got
}

// The match sets equal those of ripgrep on a tree of source text.
func TestSearchAgreesWithRipgrep(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	must(t, err)
	src := filepath.Join(strings.TrimSpace(string(out)), "src", "net")
	for _, c := range []struct {
		req  SearchRequest
		args []string
	}{
		{SearchRequest{Pattern: "TODO"}, nil},
		{SearchRequest{Pattern: `\bTODO\b`, Context: 2}, []string{"-C2"}},
		{SearchRequest{Pattern: `func [A-Z]\w+\(ctx`}, nil},
		{SearchRequest{Pattern: `[a-z]+ing\s+[a-z]+ed\b`}, nil},
		{SearchRequest{Pattern: "^package", Glob: "*.go"}, []string{"-g", "*.go"}},
		{SearchRequest{Pattern: "x$"}, nil},
		{SearchRequest{Pattern: "deadline", IgnoreCase: true}, []string{"-i"}},
		{SearchRequest{Pattern: "task", IgnoreCase: true}, []string{"-i"}},
		{SearchRequest{Pattern: "x[i](", Literal: true}, []string{"-F"}},
		{SearchRequest{Pattern: "[A-Z]{4}[0-9]+|é"}, nil},
		{SearchRequest{Pattern: "dial|listen", IgnoreCase: true, Glob: "http/**/*_test.go"}, []string{"-i", "-g", "/http/**/*_test.go"}},
	} {
		c.req.Root, c.req.Path = src, src
		want := ripgrep(t, src, append(c.args, "-e", c.req.Pattern)...)
		got, report := lines(t, folder{}, c.req)
		if d := cmp.Diff(want, textLines(got)); d != "" || report.Unreadable > 0 || len(want) == 0 && !c.req.Literal {
			t.Errorf("%s: %+v; rg -, we +\n%.2000s", c.req.Pattern, report, d)
		}
	}
}

// The same on random trees with ignore files, hidden names and line ends.
func TestSearchAgreesWithRipgrepOnRandomTrees(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 9))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for range 8 {
		files := map[string]string{}
		for i := range 60 {
			dir := ""
			for range r.IntN(4) {
				dir += pick("a", "b", ".h", "out", "x y") + "/"
			}
			var text strings.Builder
			for range r.IntN(12) {
				for range r.IntN(5) {
					text.WriteString(pick("needle ", "NEEDLE", "pin", "é", "-", "needles", "\t"))
				}
				text.WriteString(pick("\n", "\n", "\r\n"))
			}
			files[fmt.Sprintf("%sf%d.%s", dir, i, pick("go", "txt", "log"))] = text.String()
			if r.IntN(8) == 0 {
				files[dir+".gitignore"] = pick("out/\n", "*.log\n", "/a\n!*.log\n", "**/b/*.txt\n", "f1*\n") + pick("", "!f2*\n", "out\n")
			}
		}
		root := tree(t, files)
		for _, pattern := range []string{"needle", `\bneedle\b`, `pin$`, "é+|-", `^\t`, "(?i)needles?-"} {
			context := r.IntN(3)
			want := ripgrep(t, root, fmt.Sprintf("-C%d", context), "-e", strings.ReplaceAll(pattern, `\b`, `(?-u:\b)`)) // RE2's is ASCII
			got, _ := lines(t, folder{}, SearchRequest{Root: root, Path: root, Pattern: pattern, Context: context})
			if d := cmp.Diff(want, textLines(got)); d != "" {
				t.Fatalf("%s: rg -, we +\n%.3000s", pattern, d)
			}
		}
	}
}

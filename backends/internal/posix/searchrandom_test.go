//go:build linux

package posix

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/match"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/opstest"
)

// Searches by scripts give what the in-memory workspace gives, on random trees with
// names that mean something elsewhere, ignore rules, links and binary files.
func TestGREP03RandomTreesAgreeWithMemory(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for seed := range trees() {
			random := rand.New(rand.NewPCG(uint64(seed), 7))
			dir := fmt.Sprintf("tree%d", seed)
			m := opstest.NewMemory(opstest.Options{Dir: f.path(dir)})
			grow(t, random, f, m, dir)
			for _, req := range requests(random) {
				req.Root, req.Path = f.path(dir), f.path(dir)
				got, want := []string{}, []string{}
				r1, err1 := f.Search(t.Context(), req, func(l ops.SearchLine) bool { got = append(got, fmt.Sprintf("%+v", l)); return true })
				r2, err2 := match.Search(t.Context(), m.Set().Grep, match.SearchRequest(req), func(l match.SearchLine) bool {
					want = append(want, fmt.Sprintf("%+v", l))
					return true
				})
				if diff := cmp.Diff(want, got); diff != "" || err1 != nil || err2 != nil || r1.Limited != r2.Limited || r1.Unreadable != r2.Unreadable {
					t.Errorf("seed %d, %+v: %.2000s\n%+v %v, want %+v %v", seed, req, diff, r1, err1, r2, err2)
				}
				glob := ops.GlobRequest{Root: req.Root, Path: req.Path, Pattern: or(req.Glob, "**")}
				got, want = nil, nil
				_, err1 = f.Glob(t.Context(), glob, func(p string) bool { got = append(got, p); return true })
				_, err2 = match.Glob(t.Context(), m.Set().Grep, match.GlobRequest(glob), func(p string) bool { want = append(want, p); return true })
				if diff := cmp.Diff(want, got); diff != "" || err1 != nil || err2 != nil {
					t.Errorf("seed %d, %+v: %.2000s\n%v, want %v", seed, glob, diff, err1, err2)
				}
			}
			_ = m.Close() // it runs nothing
		}
	})
}

// trees is how many there are.
func trees() int {
	if os.Getenv("PIREMOTE_SOAK") == "1" { //nolint:forbidigo // tests read their own switches
		return 60
	}
	return 1
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// grow makes the same random tree at the target and in memory.
func grow(t *testing.T, random *rand.Rand, f *fixture, m *opstest.Memory, dir string) {
	t.Helper()
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	folders := []string{""}
	for range 8 {
		folders = append(folders, path.Join(pick(folders...), pick("a", "b b", "-n", ".git", ".hidden", "node_modules", "é", "new\nline", "$(id)", "*")))
	}
	for range 60 {
		name := path.Join(pick(folders...), pick("f.go", "g.txt", "-e", ".gitignore", ".x", "q?", "two\nlines", "'", "\"", "ü", "[a]", "long.txt", "binary"))
		var text strings.Builder
		for range random.IntN(12) {
			text.WriteString(pick("needle", "Needle one", "hay", "", "nee", "a needle\r", "*.txt", "f.go", "b b/", "!g.txt", "\xff needle", strings.Repeat("x", 700)+"needle") + "\n")
		}
		if path.Base(name) == "binary" {
			text.WriteString("\x00needle")
		}
		f.put(t, path.Join(dir, name), text.String())
		must(t, m.PutFile(f.path(path.Join(dir, name)), []byte(text.String()), 0o644))
	}
	link := path.Join(dir, "link")
	must(t, os.Symlink("f.go", f.path(link)))
	must(t, m.Symlink("f.go", f.path(link)))
}

// requests are searches with and without a text that every match holds.
func requests(random *rand.Rand) []ops.SearchRequest {
	all := []ops.SearchRequest{
		{Pattern: "needle", Context: 1, MaxLine: 60},
		{Pattern: "NEEDLE", IgnoreCase: true, Limit: 5},
		{Pattern: "n[ee]+dle|^hay$"},
		{Pattern: "(one|hay)", Glob: "**/*.go", Context: 2},
		{Pattern: ".", Glob: "a/**", Limit: 20},
		{Pattern: "*.txt", Literal: true},
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:4]
}

// A search that has fetched its budget says how much it has not seen.
func TestGREP03SearchHasABudget(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for i := range 120 {
			f.put(t, fmt.Sprintf("f%03d", i), "needle "+strings.Repeat("x", 93)+"\n")
		}
		f.core.searchBudget = 3000
		for pattern, notes := range map[string]bool{"n.{2}dle|hay": true, "absent.{9}y": false} {
			lines := 0
			r, err := f.Search(t.Context(), ops.SearchRequest{Root: f.dir, Path: f.dir, Pattern: pattern}, func(ops.SearchLine) bool { lines++; return true })
			told := strings.Join(r.Notes, "")
			if err != nil || notes != strings.Contains(told, "were not searched") || r.Unreadable > 0 || pattern[0] == 'n' && pattern[1] == '.' && (lines < 29 || lines > 100) {
				t.Errorf("%s: %d lines, %+v, %v", pattern, lines, r, err)
			}
		}
	})
}

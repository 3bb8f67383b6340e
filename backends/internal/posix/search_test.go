//go:build linux

package posix

import (
	"context"
	"fmt"
	"io/fs"
	"os"
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

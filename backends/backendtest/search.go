package backendtest

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/piremote/piremote/tools/match"
	"github.com/piremote/piremote/tools/ops"
)

func searchChecks() []Check {
	return []Check{
		{Name: "SearchEqualsPlain", Rule: "Search gives the same answer as the plain path (GREP-01, GREP-02, GREP-04)", Run: searchEqualsPlain},
		{Name: "GlobEqualsPlain", Rule: "Glob gives the same answer as the plain path (FIND-03, FIND-04)", Run: globEqualsPlain},
	}
}

// plainFiles hides the abilities of operations. What was read and listed stays: on
// some targets it costs seconds, and no check changes files while it searches.
type plainFiles struct {
	ops.GrepOperations
	mu      sync.Mutex
	files   map[string][]byte
	folders map[string][]fs.DirEntry
}

func newPlainFiles(files ops.GrepOperations) *plainFiles {
	return &plainFiles{GrepOperations: files, files: map[string][]byte{}, folders: map[string][]fs.DirEntry{}}
}

func (p *plainFiles) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	return remembered(&p.mu, p.files, fmt.Sprint(limit, name), func() ([]byte, error) {
		return p.GrepOperations.ReadFile(ctx, name, limit)
	})
}

func (p *plainFiles) ReadDir(ctx context.Context, name string, yield func(fs.DirEntry) bool) error {
	entries, err := remembered(&p.mu, p.folders, name, func() (entries []fs.DirEntry, err error) {
		err = p.GrepOperations.ReadDir(ctx, name, func(e fs.DirEntry) bool {
			entries = append(entries, e)
			return true
		})
		return entries, err
	})
	for _, e := range entries {
		if !yield(e) {
			break
		}
	}
	return err
}

// remembered is what get gave before, or gives now: errors are not remembered.
func remembered[T any](mu *sync.Mutex, known map[string]T, key string, get func() (T, error)) (T, error) {
	mu.Lock()
	v, ok := known[key]
	mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := get()
	if err == nil {
		mu.Lock()
		known[key] = v
		mu.Unlock()
	}
	return v, err
}

func (w *Workspace) putTree() error {
	return first(w.put(map[string]string{
		"a.txt": "needle one\nhay\nNeedle two\nhay\nhay\nneedle three\n", "b.go": "package needle\r\n\r\n// needle\r\n", "last": "no line end: needle",
		"sub/c.txt": "hay\nneedle in sub\n", "sub/deep/d.txt": "-needle\n", "sub-sibling/e.txt": "needle\n", ".hidden/f.txt": "needle\n", "Z": "needle\n",
		".gitignore": "ignored/\n*.log\n!keep.log\n", "ignored/g.txt": "needle\n", "h.log": "needle\n", "keep.log": "needle\n",
		"binary": "needle\x00\x01\x02", "latin": "n\xe9edle needle \xff\n", "long.txt": strings.Repeat("x", 3000) + "needle" + strings.Repeat("y", 3000) + "\n",
		"sp ace/i j.txt": "needle\n", "sub/.gitignore": "k.txt\n", "sub/k.txt": "needle\n",
	}), w.Fixture.Symlink("..", w.at("sub", "up")), w.Fixture.Symlink("a.txt", w.at("link.txt")))
}

func searchEqualsPlain(ctx context.Context, w *Workspace) error {
	able, ok := w.Set.Grep.(ops.Searcher)
	if !ok {
		return fmt.Errorf("search: %w", ErrAbsent)
	}
	if err := w.putTree(); err != nil {
		return err
	}
	files := newPlainFiles(w.Set.Grep)
	for _, req := range []ops.SearchRequest{
		{Pattern: "needle"},
		{Pattern: "needle", IgnoreCase: true, Context: 1},
		{Pattern: "-needle", Literal: true},
		{Pattern: "needle", Limit: 3},
		{Pattern: `^needle\b.*e$`},
		{Pattern: "needle", Glob: "*.txt"},
		{Pattern: "needle", Path: w.at("sub")},
		{Pattern: "needle", Path: w.at("a.txt"), Context: 2},
		{Pattern: "needle", Glob: "sub/**"},
		{Pattern: "nothing has this"},
		{Pattern: "needle|hay", Limit: 1, Context: 1},
	} {
		req.Root, req.MaxLine = w.at(), 200
		if req.Path == "" {
			req.Path = w.at()
		}
		var got, want []ops.SearchLine
		report, err := able.Search(ctx, req, func(l ops.SearchLine) bool {
			got = append(got, l)
			return true
		})
		if err != nil {
			return fmt.Errorf("%+v: %w", req, err)
		}
		plain, err := match.Search(ctx, files, match.SearchRequest(req), func(l match.SearchLine) bool {
			want = append(want, ops.SearchLine(l))
			return true
		})
		if err := first(err, sameList(got, want), same("Limited", report.Limited, plain.Limited), same("Unreadable", report.Unreadable, plain.Unreadable)); err != nil {
			return fmt.Errorf("%+v: %w", req, err)
		}
	}
	return nil
}

func globEqualsPlain(ctx context.Context, w *Workspace) error {
	able, ok := w.Set.Find.(ops.Globber)
	if !ok {
		return fmt.Errorf("glob: %w", ErrAbsent)
	}
	if err := w.putTree(); err != nil {
		return err
	}
	files := newPlainFiles(w.Set.Grep)
	for _, req := range []ops.GlobRequest{
		{Pattern: "*.txt"},
		{Pattern: "**/*.txt"},
		{Pattern: "**"},
		{Pattern: "*"},
		{Pattern: ".h*"},
		{Pattern: "sub/**/*.txt"},
		{Pattern: "{a,c}.txt"},
		{Pattern: "**/*", Limit: 4},
		{Pattern: "*.txt", Path: w.at("sub")},
		{Pattern: "nothing"},
		{Pattern: "*.log"},
	} {
		req.Root = w.at()
		if req.Path == "" {
			req.Path = w.at()
		}
		var got, want []string
		report, err := able.Glob(ctx, req, func(p string) bool {
			got = append(got, p)
			return true
		})
		if err != nil {
			return fmt.Errorf("%+v: %w", req, err)
		}
		plain, err := match.Glob(ctx, files, match.GlobRequest(req), func(p string) bool {
			want = append(want, p)
			return true
		})
		if err := first(err, sameList(got, want), same("Limited", report.Limited, plain.Limited)); err != nil {
			return fmt.Errorf("%+v: %w", req, err)
		}
	}
	return nil
}

// sameList compares lists with their order.
func sameList[T comparable](got, want []T) error {
	if slices.Equal(got, want) {
		return nil
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	return fmt.Errorf("%d results, want %d; from number %d on: %+v, want %+v", len(got), len(want), i, got[i:min(len(got), i+2)], want[i:min(len(want), i+2)])
}

package match

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

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

// memory is a FileSystem without streams, over a tree in memory whose root is
// "/". Folders are listed backwards.
type memory struct {
	files  fstest.MapFS
	listed *atomic.Int64 // folders
	fail   map[string]error
}

func inMemory(files map[string]string) memory {
	m := memory{files: fstest.MapFS{}, listed: new(atomic.Int64), fail: map[string]error{}}
	for name, content := range files {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			m.files[dir] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
			continue
		}
		m.files[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return m
}

func (m memory) name(p string) string {
	if p == "/" {
		return "."
	}
	return strings.Trim(p, "/")
}

func (m memory) Stat(_ context.Context, p string) (fs.FileInfo, error) {
	return m.files.Stat(m.name(p))
}

func (m memory) ReadFile(_ context.Context, p string, limit int64) ([]byte, error) {
	if err := m.fail[p]; err != nil {
		return nil, &fs.PathError{Op: "read", Path: p, Err: err}
	}
	data, err := m.files.ReadFile(m.name(p))
	if limit > 0 && int64(len(data)) > limit {
		return nil, errors.New("too large")
	}
	return data, err
}

func (m memory) ReadDir(_ context.Context, p string, yield func(fs.DirEntry) bool) error {
	m.listed.Add(1)
	entries, err := m.files.ReadDir(m.name(p))
	slices.Reverse(entries)
	for _, e := range entries {
		if !yield(e) {
			return nil
		}
	}
	if err := m.fail[p]; err != nil {
		return &fs.PathError{Op: "readdir", Path: p, Err: err}
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

func globs(t testing.TB, fsys Lister, root, start, pattern string) []string {
	t.Helper()
	var got []string
	_, err := Glob(t.Context(), fsys, GlobRequest{Root: root, Path: start, Pattern: pattern}, func(p string) bool {
		got = append(got, p)
		return true
	})
	must(t, err)
	return got
}

func lines(t testing.TB, fsys FileSystem, req SearchRequest) ([]string, SearchReport) {
	t.Helper()
	var got []string
	report, err := Search(t.Context(), fsys, req, func(l SearchLine) bool {
		got = append(got, show(l))
		return true
	})
	must(t, err)
	return got, report
}

// show writes a line as grep does.
func show(l SearchLine) string {
	switch {
	case l.Binary:
		return l.Path + ": binary"
	case l.Context:
		return fmt.Sprintf("%s-%d-%s", l.Path, l.Line, l.Text)
	}
	return fmt.Sprintf("%s:%d:%s", l.Path, l.Line, l.Text)
}

func asPattern(err error, target **PatternError) bool {
	e, ok := err.(*PatternError) //nolint:errorlint // it is returned bare
	*target = e
	return ok
}

// inOrder reports whether paths are sorted segment by segment.
func inOrder(paths []string) bool {
	return slices.IsSortedFunc(paths, func(a, b string) int {
		return slices.Compare(strings.Split(path.Clean(a), "/"), strings.Split(path.Clean(b), "/"))
	})
}

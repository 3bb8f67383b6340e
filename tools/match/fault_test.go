package match

import (
	"context"
	"errors"
	"testing"
)

// lost is the error of a way that failed.
type lost struct{}

func (lost) Error() string   { return "the link is gone" }
func (lost) WayFailed() bool { return true }

// A failed way is no unreadable file: what was found before is not all there is.
func TestGREP03FailedWayEndsTheSearch(t *testing.T) {
	for _, at := range []string{"/b/1", "/b/.gitignore", "/b"} {
		fsys := inMemory(map[string]string{"a": "needle\n", "b/1": "needle\n", "b/2": "needle\n", "b/.gitignore": "x\n", "c": "needle\n"})
		fsys.fail[at] = lost{}
		_, err := Search(t.Context(), fsys, SearchRequest{Root: "/", Path: "/", Pattern: "needle"}, func(SearchLine) bool { return true })
		if !errors.Is(err, lost{}) {
			t.Errorf("search, %s: %v", at, err)
		}
		_, err = Glob(t.Context(), fsys, GlobRequest{Root: "/", Path: "/", Pattern: "**"}, func(string) bool { return true })
		if readFile := at == "/b/1"; errors.Is(err, lost{}) == readFile {
			t.Errorf("glob, %s: %v", at, err)
		}
	}
	fsys := inMemory(map[string]string{"a": "needle\n", "b": "needle\n"})
	fsys.fail["/b"] = errors.New("no permission")
	report, err := Search(t.Context(), fsys, SearchRequest{Root: "/", Path: "/", Pattern: "needle"}, func(SearchLine) bool { return true })
	if err != nil || report.Unreadable != 1 {
		t.Errorf("a file that can't be read: %+v, %v", report, err)
	}
}

// broken is a file system whose way fails at one file, when it is told to.
type broken struct {
	memory
	at   string
	fail chan struct{}
}

func (b broken) ReadFile(ctx context.Context, p string, limit int64) ([]byte, error) {
	if p != b.at {
		return b.memory.ReadFile(ctx, p, limit)
	}
	<-b.fail
	return nil, lost{}
}

// A way that fails behind what was asked for is no fault of the search, which had
// found it before.
func TestGREP03FailedWayBehindTheLimit(t *testing.T) {
	b := broken{inMemory(map[string]string{"a": "needle\n", "b": "needle\n"}), "/b", make(chan struct{})}
	report, err := Search(t.Context(), b, SearchRequest{Root: "/", Path: "/", Pattern: "needle"}, func(l SearchLine) bool {
		if l.Path != "a" {
			t.Errorf("%+v", l)
		}
		close(b.fail)
		return false
	})
	if err != nil || report.Unreadable != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

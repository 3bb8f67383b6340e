package match

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"
)

// counting is memory with streams; it counts what was opened and is open.
type counting struct {
	memory
	opened, open atomic.Int64
}

func (c *counting) Open(ctx context.Context, p string) (io.ReadCloser, error) {
	data, err := c.ReadFile(ctx, p, 0)
	if err != nil {
		return nil, err
	}
	c.opened.Add(1)
	c.open.Add(1)
	return counted{bytes.NewReader(data), c}, nil
}

type counted struct {
	io.Reader
	c *counting
}

func (c counted) Close() error { c.c.open.Add(-1); return nil }

func TestSearchStopsWhenCancelled(t *testing.T) {
	files := map[string]string{}
	for i := range 3000 {
		files[fmt.Sprintf("d%d/f", i)] = "needle\n"
	}
	for _, byYield := range []bool{false, true} {
		fsys := &counting{memory: inMemory(files)}
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		_, err := Search(ctx, fsys, SearchRequest{Root: "/", Path: "/", Pattern: "needle"}, func(SearchLine) bool {
			n++
			if !byYield {
				cancel()
			}
			return !byYield
		})
		cancel()
		if byYield != (err == nil) || err != nil && !errors.Is(err, context.Canceled) || n != 1 {
			t.Errorf("stopped by yield %v: %d matches, %v", byYield, n, err)
		}
		if fsys.open.Load() != 0 || fsys.opened.Load() > 1000 || fsys.listed.Load() > 1500 {
			t.Errorf("%d files open, %d opened, %d folders listed", fsys.open.Load(), fsys.opened.Load(), fsys.listed.Load())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Search(ctx, &counting{memory: inMemory(files)}, SearchRequest{Root: "/", Path: "/", Pattern: "needle"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}

// stuck blocks in Read until it is closed, as a dead link does.
type stuck struct {
	memory
	reading chan struct{}
}

func (s stuck) Open(context.Context, string) (io.ReadCloser, error) {
	return &stuckFile{reading: s.reading, closed: make(chan struct{})}, nil
}

type stuckFile struct {
	reading, closed chan struct{}
	once            sync.Once
}

func (f *stuckFile) Read([]byte) (int, error) {
	select {
	case f.reading <- struct{}{}:
	default:
	}
	<-f.closed
	return 0, fs.ErrClosed
}

func (f *stuckFile) Close() error { f.once.Do(func() { close(f.closed) }); return nil }

func TestCancelFreesABlockedRead(t *testing.T) {
	for _, start := range []string{"/", "/a"} {
		fsys := stuck{inMemory(map[string]string{"a": "", "b": ""}), make(chan struct{}, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-fsys.reading
			cancel()
		}()
		report, err := Search(ctx, fsys, SearchRequest{Root: "/", Path: start, Pattern: "x"}, nil)
		if !errors.Is(err, context.Canceled) || report.Unreadable != 0 {
			t.Errorf("%s: %+v, %v", start, report, err)
		}
	}
}

// A reader that returns nothing is an error, not an endless loop.
func TestReaderWithoutProgress(t *testing.T) {
	report, err := Search(t.Context(), idle{inMemory(map[string]string{"a": ""})}, SearchRequest{Root: "/", Path: "/", Pattern: "x"}, nil)
	if err != nil || report.Unreadable != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

type idle struct{ memory }

func (idle) Open(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(idleReader{}), nil
}

type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }

package opstest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/piremote/piremote/tools/ops"
)

func brokenReads() []Breach {
	return append([]Breach{
		alter("ReadExactBytes", "what is not UTF-8 is replaced", func(_ *Memory, next operations, a *altered) {
			a.read = func(ctx context.Context, p string, limit int64) ([]byte, error) {
				data, err := next.ReadFile(ctx, p, limit)
				return bytes.ToValidUTF8(data, []byte("\uFFFD")), err
			}
		}),
		alter("ReadLimit", "a large file is cut in silence", func(_ *Memory, next operations, a *altered) {
			a.read = func(ctx context.Context, p string, limit int64) ([]byte, error) {
				data, err := next.ReadFile(ctx, p, 0)
				if limit > 0 && int64(len(data)) > limit {
					data = data[:limit]
				}
				return data, err
			}
		}),
		alter("ReadMissing", "a missing file is empty", func(_ *Memory, next operations, a *altered) {
			a.read = func(ctx context.Context, p string, limit int64) ([]byte, error) {
				data, err := next.ReadFile(ctx, p, limit)
				if errors.Is(err, fs.ErrNotExist) {
					err = nil
				}
				return data, err
			}
		}),
		alter("ReadFolder", "a folder is merely not regular", readAs(ops.ErrIsDir, ops.ErrNotRegular)),
		alter("ReadBelowFile", "the error is another", readAs(ops.ErrNotDir, fs.ErrInvalid)),
		alter("ReadFIFO", "reading a FIFO waits for a writer", func(_ *Memory, next operations, a *altered) {
			a.read = func(ctx context.Context, p string, limit int64) ([]byte, error) {
				data, err := next.ReadFile(ctx, p, limit)
				if errors.Is(err, ops.ErrNotRegular) {
					<-ctx.Done()
					err = ctx.Err()
				}
				return data, err
			}
		}),
		alter("ReadOwnBytes", "the bytes come from a shared cache", cachedRead),
		alter("Access", "a folder counts as a file that can be read", func(_ *Memory, next operations, a *altered) {
			a.access = func(ctx context.Context, p string) error {
				err := next.Access(ctx, p)
				if errors.Is(err, ops.ErrIsDir) {
					err = nil
				}
				return err
			}
		}),
		alter("CancelledRead", "a listing does not look at its context", func(_ *Memory, next operations, a *altered) {
			a.list = func(ctx context.Context, p string, yield func(fs.DirEntry) bool) error {
				return next.ReadDir(context.WithoutCancel(ctx), p, yield)
			}
		}),
	}, brokenWindows()...)
}

func readAs(from, to error) func(*Memory, operations, *altered) {
	return func(_ *Memory, next operations, a *altered) {
		a.read = func(ctx context.Context, p string, limit int64) ([]byte, error) {
			data, err := next.ReadFile(ctx, p, limit)
			if errors.Is(err, from) {
				err = pathError("read", p, to)
			}
			return data, err
		}
	}
}

// cachedRead returns the same slice as long as the file has not changed.
func cachedRead(_ *Memory, next operations, a *altered) {
	var mu sync.Mutex
	type entry struct{ original, shared []byte }
	cache := map[string]entry{}
	a.read = func(ctx context.Context, p string, limit int64) ([]byte, error) {
		data, err := next.ReadFile(ctx, p, limit)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if e, ok := cache[p]; ok && bytes.Equal(e.original, data) {
			return e.shared, nil
		}
		cache[p] = entry{bytes.Clone(data), data}
		return data, nil
	}
}

func brokenWindows() []Breach {
	return []Breach{
		alter("WindowLines", "a last line without line feed is lost", func(_ *Memory, next operations, a *altered) {
			a.window = func(ctx context.Context, p string, req ops.WindowRequest) (ops.Window, error) {
				win, err := next.ReadWindow(ctx, p, req)
				if n := len(win.Data); n > 0 && win.Data[n-1] != '\n' {
					win.Data = win.Data[:bytes.LastIndexByte(win.Data, '\n')+1]
					win.Lines--
				}
				return win, err
			}
		}),
		alter("WindowTotals", "line feeds are counted, not lines", func(_ *Memory, next operations, a *altered) {
			a.window = func(ctx context.Context, p string, req ops.WindowRequest) (ops.Window, error) {
				win, err := next.ReadWindow(ctx, p, req)
				if data, rerr := next.ReadFile(ctx, p, 0); err == nil && rerr == nil {
					win.TotalLines = bytes.Count(data, []byte("\n"))
				}
				return win, err
			}
		}),
		alter("WindowErrors", "a missing file has no lines", func(_ *Memory, next operations, a *altered) {
			a.window = func(ctx context.Context, p string, req ops.WindowRequest) (ops.Window, error) {
				win, err := next.ReadWindow(ctx, p, req)
				if errors.Is(err, fs.ErrNotExist) {
					err = nil
				}
				return win, err
			}
		}),
		alter("OpenStreams", "a short read is taken as the end", func(_ *Memory, next operations, a *altered) {
			a.open = func(ctx context.Context, p string) (io.ReadCloser, error) {
				r, err := next.Open(ctx, p)
				if err != nil {
					return nil, err
				}
				return struct {
					io.Reader
					io.Closer
				}{io.LimitReader(r, 32<<10), r}, nil
			}
		}),
	}
}

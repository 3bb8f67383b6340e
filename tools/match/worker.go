package match

import (
	"bytes"
	"context"
	"io"
	"sync"
)

const (
	maxBatch   = 32        // files that are handed to a worker at once; one where a file may cost a round trip
	chunkLines = 512       // lines after which a worker passes on what it has
	chunkBytes = 256 << 10 // bytes of lines, likewise
)

// batch is some files that follow one another in the order.
type batch struct {
	names []string   // relative to the searched folder
	out   chan chunk // closed when all are searched
}

// chunk is a part of what a batch gave.
type chunk struct {
	lines      []SearchLine
	unreadable int
}

// worker searches files, one at a time.
type worker struct {
	s       *search
	scanner *scanner
	current open
	stop    func() bool

	rel  string
	part chunk
	size int // bytes of the lines of part
}

func (s *search) worker(ctx context.Context) *worker {
	w := &worker{s: s, scanner: newScanner(s.pattern, s.req)}
	w.stop = context.AfterFunc(ctx, w.current.abort)
	return w
}

func (w *worker) release() { w.stop() }

// batch searches the files of a batch. It waits for the reader of the results
// when it has found much.
func (w *worker) batch(ctx context.Context, b *batch) {
	defer close(b.out)
	flush := func() bool {
		part := w.part
		w.part, w.size = chunk{}, 0
		select {
		case b.out <- part:
			return true
		case <-ctx.Done():
			return false
		}
	}
	add := func(l SearchLine) bool {
		l.Path = w.rel
		w.part.lines = append(w.part.lines, l)
		w.size += len(l.Text)
		return len(w.part.lines) < chunkLines && w.size < chunkBytes || flush()
	}
	for _, rel := range b.names {
		w.rel = rel
		err := w.file(ctx, join(w.s.req.Path, rel), add)
		w.s.faults.note(err)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			w.part.unreadable++
		}
	}
	if len(w.part.lines) > 0 || w.part.unreadable > 0 {
		flush()
	}
}

// file searches one file.
func (w *worker) file(ctx context.Context, p string, emit func(SearchLine) bool) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o, ok := w.s.fsys.(Opener)
	if !ok {
		data, err := w.s.fsys.ReadFile(ctx, p, 0)
		if err != nil {
			return err
		}
		return w.scanner.scan(ctx, bytes.NewReader(data), emit)
	}
	r, err := o.Open(ctx, p)
	if err != nil {
		return err
	}
	w.current.set(r)
	err = w.scanner.scan(ctx, r, emit)
	if cerr := w.current.close(); err == nil {
		err = cerr
	}
	return err
}

// open is the file that a worker reads. Closing it frees a blocked read.
type open struct {
	mu      sync.Mutex
	file    io.Closer
	aborted bool
}

func (o *open) set(c io.Closer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file = c; o.aborted {
		_ = c.Close()
		o.file = nil
	}
}

func (o *open) close() error {
	o.mu.Lock()
	c := o.file
	o.file = nil
	o.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.Close()
}

func (o *open) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.aborted = true
	if o.file != nil {
		_ = o.file.Close()
		o.file = nil
	}
}

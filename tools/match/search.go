package match

import (
	"context"
	"io/fs"
	"path"
	"runtime"
	"sync"
)

// Options tune a search. The zero value is the default.
type Options struct {
	// Workers is the number of files that are searched at the same time; 0
	// means one for each processor, and at least two.
	Workers int
}

func (o Options) workers() int {
	if o.Workers > 0 {
		return o.Workers
	}
	return max(2, runtime.GOMAXPROCS(0))
}

// Search is SearchWith with default options.
func Search(ctx context.Context, fsys FileSystem, req SearchRequest, yield func(SearchLine) bool) (SearchReport, error) {
	return SearchWith(ctx, fsys, req, Options{}, yield)
}

// SearchWith calls yield, from the calling goroutine, for matches and context
// lines in the package's order until yield returns false or the limit is
// reached. Files are searched in parallel, a bounded number ahead of what has
// been yielded; all of that has ended when SearchWith returns. Memory depends
// neither on the size of the tree nor, with an Opener, on that of files and
// lines.
//
// A pattern or glob that can't be parsed is a *PatternError; a start that can't
// be read is the error of the file system; below it, what can't be read is
// counted, but an error with a method WayFailed that returns true ends the search
// and is returned: nothing else can be read then either. After ctx has ended the error is that of ctx.
func SearchWith(ctx context.Context, fsys FileSystem, req SearchRequest, opts Options, yield func(SearchLine) bool) (SearchReport, error) {
	p, err := compile(req)
	if err != nil {
		return SearchReport{}, err
	}
	s := &search{fsys: fsys, req: req, pattern: p, workers: opts.workers()}
	if req.Glob != "" {
		g, err := parseGlob(req.Glob)
		if err != nil {
			return SearchReport{}, err
		}
		s.glob = &g
	}
	info, err := fsys.Stat(ctx, req.Path)
	if err != nil {
		return SearchReport{}, err
	}
	s.req.Path = trimSlash(req.Path)
	if !info.IsDir() {
		return s.one(ctx, info, yield)
	}
	return s.tree(ctx, yield)
}

type search struct {
	fsys    FileSystem
	req     SearchRequest
	pattern *pattern
	glob    *glob
	workers int
	faults  *faults
}

// one searches a single file that was named, whatever the glob.
func (s *search) one(ctx context.Context, info fs.FileInfo, yield func(SearchLine) bool) (SearchReport, error) {
	if !info.Mode().IsRegular() {
		return SearchReport{}, &fs.PathError{Op: "search", Path: s.req.Path, Err: ErrNotRegular}
	}
	e := &emitter{req: s.req, yield: yield}
	w := s.worker(ctx)
	defer w.release()
	base := path.Base(s.req.Path)
	err := w.file(ctx, s.req.Path, func(l SearchLine) bool {
		l.Path = base
		return e.line(l)
	})
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return SearchReport{Limited: e.limited}, err
}

// tree searches a folder: one goroutine walks, some search, this one yields.
func (s *search) tree(ctx context.Context, yield func(SearchLine) bool) (SearchReport, error) {
	outer := ctx
	ctx, s.faults = watch(ctx)
	defer s.faults.stop()
	jobs, order := make(chan *batch), make(chan *batch, 4*s.workers)
	w := newWalker(s.fsys, s.faults)
	w.gitVisible = inGit(s.req.Path)
	if s.glob != nil {
		w.descend = s.glob.mayHold
	}
	w.want = func(name string, typ fs.FileMode) bool {
		return typ.IsRegular() && (s.glob == nil || s.glob.mayBe(name))
	}
	var walkErr error
	var group sync.WaitGroup
	group.Go(func() {
		defer close(jobs)
		defer close(order)
		walkErr = s.batches(ctx, w, order, jobs)
	})
	for range s.workers {
		group.Go(func() {
			worker := s.worker(ctx)
			defer worker.release()
			for b := range jobs {
				worker.batch(ctx, b)
			}
		})
	}
	e := &emitter{req: s.req, yield: yield}
	unreadable := 0
	for b := range order {
		if !e.batch(ctx, b, &unreadable) {
			break
		}
	}
	stopped := e.done || outer.Err() != nil
	s.faults.stop()
	for range order {
		continue // let the walker end
	}
	group.Wait()
	report := SearchReport{Limited: e.limited, Unreadable: unreadable + w.unreadable}
	if stopped {
		return report, outer.Err()
	}
	return report, s.faults.first(walkErr)
}

// batches walks the tree and hands out its files: first to those who keep the
// order, then to the workers.
func (s *search) batches(ctx context.Context, w *walker, order, jobs chan<- *batch) error {
	var names []string
	hand := func() bool {
		b := &batch{names: names, out: make(chan chunk, 1)}
		names = nil
		for _, queue := range []chan<- *batch{order, jobs} {
			select {
			case queue <- b:
			case <-ctx.Done():
				return false
			}
		}
		return true
	}
	size, most := 1, 1 // small at first, for soon results
	if _, ok := s.fsys.(Opener); ok {
		most = maxBatch
	}
	w.visit = func(rel string, typ fs.FileMode) bool {
		if !typ.IsRegular() || s.glob != nil && !s.glob.matches(rel, false) {
			return true
		}
		names = append(names, rel)
		if len(names) < size {
			return true
		}
		size = min(2*size, most)
		return hand()
	}
	err := w.walk(ctx, s.req.Root, s.req.Path)
	if len(names) > 0 && ctx.Err() == nil {
		hand()
	}
	return err
}

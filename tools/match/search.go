package match

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"runtime"
	"sync"
)

// Search calls yield for matches and context lines in the package's order until
// yield returns false or the limit is reached. Files are searched in parallel,
// a bounded number ahead of what has been yielded. A start that can't be read
// is an error; below it, what can't be read is counted.
func Search(ctx context.Context, fsys FileSystem, req SearchRequest, yield func(SearchLine) bool) (SearchReport, error) {
	p, err := compile(req)
	if err != nil {
		return SearchReport{}, err
	}
	s := &search{fsys: fsys, req: req, pattern: p}
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
}

// one searches a single file that was named.
func (s *search) one(ctx context.Context, info fs.FileInfo, yield func(SearchLine) bool) (SearchReport, error) {
	if !info.Mode().IsRegular() {
		return SearchReport{}, &fs.PathError{Op: "search", Path: s.req.Path, Err: errNotRegular}
	}
	e := &emitter{req: s.req, yield: yield}
	found := s.file(ctx, s.req.Path)
	if found.err != nil {
		return SearchReport{}, found.err
	}
	e.file(path.Base(s.req.Path), found)
	return SearchReport{Limited: e.limited}, ctx.Err()
}

var errNotRegular = errors.New("not a regular file")

// job is a file that is searched while others are.
type job struct {
	rel   string
	found chan findings
}

// tree searches a folder: one goroutine walks, some search, this one yields.
func (s *search) tree(ctx context.Context, yield func(SearchLine) bool) (SearchReport, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := max(2, runtime.GOMAXPROCS(0))
	jobs, order := make(chan *job), make(chan *job, 64*workers)
	w := newWalker(s.fsys)
	w.gitVisible = inGit(s.req.Path)
	w.visit = func(rel string, typ fs.FileMode) bool {
		if !typ.IsRegular() || s.glob != nil && !s.glob.matches(rel, false) {
			return true
		}
		j := &job{rel: rel, found: make(chan findings, 1)}
		for _, queue := range []chan *job{order, jobs} {
			select {
			case queue <- j:
			case <-ctx.Done():
				return false
			}
		}
		return true
	}
	var walkErr error
	var group sync.WaitGroup
	group.Go(func() {
		walkErr = w.walk(ctx, s.req.Root, s.req.Path)
		close(jobs)
		close(order)
	})
	for range workers {
		group.Go(func() {
			for j := range jobs {
				j.found <- s.file(ctx, join(s.req.Path, j.rel))
			}
		})
	}
	e := &emitter{req: s.req, yield: yield}
	unreadable := 0
	for j := range order {
		var found findings
		select {
		case found = <-j.found:
		case <-ctx.Done():
		}
		if found.err != nil && ctx.Err() == nil {
			unreadable++
		}
		if !e.file(j.rel, found) {
			break
		}
	}
	stopped := e.done || ctx.Err() != nil
	cause := ctx.Err()
	cancel()
	for range order {
	}
	group.Wait()
	report := SearchReport{Limited: e.limited, Unreadable: unreadable + w.unreadable}
	if stopped {
		return report, cause
	}
	return report, walkErr
}

// emitter yields the findings of files up to the limit.
type emitter struct {
	req     SearchRequest
	yield   func(SearchLine) bool
	matches int
	limited bool
	done    bool
}

// file yields one file's findings. It reports false when the search is over.
func (e *emitter) file(rel string, f findings) bool {
	for _, l := range f.lines {
		if !l.Context {
			if e.req.Limit > 0 && e.matches == e.req.Limit {
				e.limited, e.done = true, true
				return false
			}
			e.matches++
		}
		l.Path = rel
		if !e.yield(l) {
			e.done = true
			return false
		}
	}
	return true
}

package match

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

const (
	aheadPerLevel = 4 // folders that are listed before their turn, for each folder on the way down
	aheadAtOnce   = 8 // folders that are listed at the same time
)

// walker visits a tree in the package's order, leaving out what is ignored.
// Folders are listed some way ahead of the visit.
type walker struct {
	lister
	descend func(rel string) bool                  // false keeps out of a folder; nil goes everywhere
	visit   func(rel string, typ fs.FileMode) bool // false stops

	unreadable int
	slots      chan struct{}
	group      sync.WaitGroup
}

// errStop ends a walk early.
var errStop = errors.New("stop")

func newWalker(fsys Lister, f *faults) *walker {
	atOnce := 1
	if _, ok := fsys.(Opener); ok {
		atOnce = aheadAtOnce
	}
	w := &walker{lister: lister{fsys: fsys, faults: f}, slots: make(chan struct{}, atOnce)}
	w.files, _ = fsys.(FileSystem)
	return w
}

// walk visits everything below start, for which rules of the folders from root
// down to it hold as well. The error is that of start, or of ctx.
func (w *walker) walk(ctx context.Context, root, start string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer w.group.Wait()
	defer cancel()
	rules, err := w.rulesAbove(ctx, trimSlash(root), start)
	if err != nil {
		return err
	}
	l := w.list(ctx, start)
	if l.err != nil {
		return l.err
	}
	err = w.folder(ctx, start, "", rules, l)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// rulesAbove collects the rules of the folders from root to the parent of start.
func (w *walker) rulesAbove(ctx context.Context, root, start string) (*ruleSet, error) {
	rest, below := strings.CutPrefix(start, strings.TrimSuffix(root, "/")+"/")
	if root == "" || !below || rest == "" {
		return nil, nil
	}
	var rules *ruleSet
	dir := root
	for name := range strings.SplitSeq(rest, "/") {
		l := w.rules(ctx, dir)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if l.err != nil {
			w.unreadable++ // its rules can't be known
		}
		rules = l.below(dir, rules)
		w.unreadable += l.unreadable
		dir = join(dir, name)
	}
	return rules, nil
}

// folder visits the entries of a folder that has been listed.
func (w *walker) folder(ctx context.Context, dir, rel string, above *ruleSet, l listing) error {
	if l.err != nil || l.unreadable > 0 {
		w.unreadable++
	}
	rules := l.below(dir, above)
	entries := l.entries
	if rules != nil {
		entries = slices.DeleteFunc(entries, func(e entry) bool { return rules.ignored(join(dir, e.name), e.typ.IsDir()) })
	}
	var ahead []chan listing // of the next folders to be entered
	next := 0
	for i, e := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		below := join(rel, e.name)
		if !w.visit(below, e.typ) {
			return errStop
		}
		if !w.enters(below, e.typ) {
			continue
		}
		for next = max(next, i); next < len(entries) && len(ahead) <= aheadPerLevel; next++ {
			if e := entries[next]; w.enters(join(rel, e.name), e.typ) {
				ahead = append(ahead, w.start(ctx, join(dir, e.name)))
			}
		}
		l := <-ahead[0]
		ahead = ahead[1:]
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.folder(ctx, join(dir, e.name), below, rules, l); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) enters(rel string, typ fs.FileMode) bool {
	return typ.IsDir() && (w.descend == nil || w.descend(rel))
}

// start lists a folder in the background.
func (w *walker) start(ctx context.Context, dir string) chan listing {
	out := make(chan listing, 1)
	w.group.Go(func() {
		select {
		case w.slots <- struct{}{}:
			out <- w.list(ctx, dir)
			<-w.slots
		case <-ctx.Done():
			out <- listing{err: ctx.Err()}
		}
	})
	return out
}

// join appends a name to a folder, which may be empty.
func join(dir, name string) string {
	switch {
	case dir == "":
		return name
	case strings.HasSuffix(dir, "/"):
		return dir + name
	}
	return dir + "/" + name
}

// trimSlash removes a slash at the end of anything but a root.
func trimSlash(p string) string {
	for len(p) > 1 && strings.HasSuffix(p, "/") && !strings.HasSuffix(p, ":/") {
		p = p[:len(p)-1]
	}
	return p
}

// inGit reports whether a path leads into a .git folder.
func inGit(p string) bool {
	for ; p != "/" && p != "." && p != ""; p = path.Dir(p) {
		if path.Base(p) == gitFolder {
			return true
		}
	}
	return false
}

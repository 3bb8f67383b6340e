package match

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxIgnoreFile bounds what is read of an ignore file.
const maxIgnoreFile = 1 << 20

// walker visits a tree in the package's order, leaving out what is ignored.
type walker struct {
	fsys       Lister
	read       func(ctx context.Context, path string) []byte // an ignore file; nil if there is none
	gitVisible bool                                          // .git is visited like any folder
	visit      func(rel string, typ fs.FileMode) bool        // false stops
	unreadable int
}

// errStop ends a walk early.
var errStop = errors.New("stop")

func newWalker(fsys Lister) *walker {
	w := &walker{fsys: fsys, read: func(context.Context, string) []byte { return nil }}
	if r, ok := fsys.(FileSystem); ok {
		w.read = func(ctx context.Context, p string) []byte {
			data, err := r.ReadFile(ctx, p, maxIgnoreFile)
			if err != nil {
				return nil // git too goes on without a file that it can't read
			}
			return data
		}
	}
	return w
}

// walk visits everything below start, for which rules of the folders from root
// down to it hold as well.
func (w *walker) walk(ctx context.Context, root, start string) error {
	rules, err := w.rulesAbove(ctx, root, start)
	if err != nil {
		return err
	}
	err = w.folder(ctx, start, "", rules)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// rulesAbove collects the rules of the folders from root to the parent of start.
func (w *walker) rulesAbove(ctx context.Context, root, start string) (*ruleSet, error) {
	if root == "" || start == root || !strings.HasPrefix(start, strings.TrimSuffix(root, "/")+"/") {
		return nil, nil
	}
	var rules *ruleSet
	dir := root
	rest := strings.Split(strings.Trim(start[len(root):], "/"), "/")
	for _, name := range rest {
		entries, err := w.entries(ctx, dir)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return rules, nil // unreadable above: its rules can't be known
		}
		rules = w.rulesOf(ctx, dir, entries, rules)
		dir = path.Join(dir, name)
	}
	return rules, nil
}

func (w *walker) entries(ctx context.Context, dir string) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	err := w.fsys.ReadDir(ctx, dir, func(e fs.DirEntry) bool {
		entries = append(entries, e)
		return ctx.Err() == nil
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// rulesOf adds a folder's own rules. A repository of its own cuts off those
// from above; its exclude file counts before its .gitignore.
func (w *walker) rulesOf(ctx context.Context, dir string, entries []fs.DirEntry, above *ruleSet) *ruleSet {
	has := func(name string) fs.DirEntry {
		i, ok := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, n string) int { return strings.Compare(e.Name(), n) })
		if !ok {
			return nil
		}
		return entries[i]
	}
	if git := has(".git"); git != nil {
		above = nil
		if git.IsDir() {
			if rules := parseRules(w.read(ctx, path.Join(dir, ".git/info/exclude"))); len(rules) > 0 {
				above = &ruleSet{dir: dir, rules: rules}
			}
		}
	}
	if file := has(".gitignore"); file != nil && file.Type().IsRegular() {
		if rules := parseRules(w.read(ctx, path.Join(dir, ".gitignore"))); len(rules) > 0 {
			return &ruleSet{dir: dir, rules: rules, above: above}
		}
	}
	return above
}

func (w *walker) folder(ctx context.Context, dir, rel string, rules *ruleSet) error {
	entries, err := w.entries(ctx, dir)
	if err != nil {
		if rel == "" || ctx.Err() != nil {
			return err
		}
		w.unreadable++
		return nil
	}
	rules = w.rulesOf(ctx, dir, entries, rules)
	for _, e := range entries {
		name := e.Name()
		if name == ".git" && !w.gitVisible || strings.HasPrefix(name, tempPrefix) {
			continue
		}
		full, below := join(dir, name), join(rel, name)
		if rules.ignored(full, e.IsDir()) {
			continue
		}
		if !w.visit(below, e.Type()) {
			return errStop
		}
		if e.IsDir() {
			if err := w.folder(ctx, full, below, rules); err != nil {
				return err
			}
		}
	}
	return nil
}

// tempPrefix begins the names of files that a write has not finished; they
// belong to nobody else (hazard WRIT-06).
const tempPrefix = ".piremote-tmp-"

func join(dir, name string) string {
	switch {
	case dir == "":
		return name
	case strings.HasSuffix(dir, "/"):
		return dir + name
	}
	return dir + "/" + name
}

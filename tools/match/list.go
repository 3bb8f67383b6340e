package match

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

const (
	gitFolder     = ".git"
	ignoreFile    = ".gitignore"
	excludeFile   = "info/exclude" // in a gitFolder
	maxIgnoreFile = 1 << 20        // bytes of an ignore file; the rules of a larger one are unknown
)

// lister lists folders together with the ignore rules in them. It may be used
// concurrently.
type lister struct {
	fsys       Lister
	faults     *faults
	files      FileSystem                              // nil if ignore files can't be read
	gitVisible bool                                    // .git is an entry like any other
	want       func(name string, typ fs.FileMode) bool // false leaves out what is no folder; nil leaves out nothing
}

// entry is kept small, since one folder may hold a million.
type entry struct {
	name string
	typ  fs.FileMode
}

// listing is a folder.
type listing struct {
	entries    []entry // sorted
	repository bool    // it holds a .git
	exclude    []rule  // of the repository
	ignore     []rule  // of its .gitignore
	unreadable int     // ignore files that could not be read
	err        error   // entries are those that came before it
}

// below returns the rules that hold in a folder, from those above it. A
// repository cuts off the rules above it; its exclude file yields to .gitignore
// files.
func (l *listing) below(dir string, above *ruleSet) *ruleSet {
	if l.repository {
		above = nil
	}
	for _, rules := range [][]rule{l.exclude, l.ignore} {
		if len(rules) > 0 {
			above = &ruleSet{dir: dir, rules: rules, above: above}
		}
	}
	return above
}

// list reads a folder.
func (s *lister) list(ctx context.Context, dir string) listing {
	var l listing
	s.read(ctx, dir, &l, func(name string, typ fs.FileMode) {
		if name == gitFolder && !s.gitVisible || isTemp(name) || !typ.IsDir() && s.want != nil && !s.want(name, typ) {
			return
		}
		l.entries = append(l.entries, entry{name, typ})
	})
	slices.SortFunc(l.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return l
}

// rules reads a folder only for its ignore rules.
func (s *lister) rules(ctx context.Context, dir string) listing {
	var l listing
	s.read(ctx, dir, &l, func(string, fs.FileMode) {})
	return l
}

func (s *lister) read(ctx context.Context, dir string, l *listing, add func(name string, typ fs.FileMode)) {
	gitDir, hasIgnore := false, false
	l.err = s.fsys.ReadDir(ctx, dir, func(e fs.DirEntry) bool {
		name, typ := e.Name(), e.Type()
		switch name {
		case gitFolder:
			l.repository, gitDir = true, typ.IsDir()
		case ignoreFile:
			hasIgnore = typ.IsRegular() // git follows no link here either
		}
		add(name, typ)
		return ctx.Err() == nil
	})
	s.faults.note(l.err)
	if ctx.Err() != nil {
		l.err = ctx.Err()
		return
	}
	if s.files == nil {
		return
	}
	if gitDir {
		l.exclude = s.parse(ctx, join(join(dir, gitFolder), excludeFile), l)
	}
	if hasIgnore {
		l.ignore = s.parse(ctx, join(dir, ignoreFile), l)
	}
}

func (s *lister) parse(ctx context.Context, p string, l *listing) []rule {
	data, err := s.files.ReadFile(ctx, p, maxIgnoreFile)
	if err != nil {
		s.faults.note(err)
		if !errors.Is(err, fs.ErrNotExist) {
			l.unreadable++
		}
		return nil
	}
	return parseRules(data)
}

// isTemp reports whether a name is that of a file which a write has not
// finished; it belongs to nobody else (hazard WRIT-06). Writers on the target
// append sixteen hexadecimal digits and a suffix, those from afar put a random
// name behind a longer prefix.
func isTemp(name string) bool {
	rest, ok := strings.CutPrefix(name, ".piremote-")
	if !ok {
		return false
	}
	if strings.HasPrefix(rest, "tmp-") {
		return true
	}
	id, ok := strings.CutSuffix(rest, ".tmp")
	return ok && len(id) == 16 && strings.Trim(id, "0123456789abcdef") == ""
}

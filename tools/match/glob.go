package match

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// errSyntax is the cause of a glob that can't be parsed.
var errSyntax = errors.New("syntax error; brackets and braces must be closed")

// Glob calls yield with the paths below req.Path that match, relative to it,
// folders ending in "/", until yield returns false or the limit is reached. A
// pattern without a slash matches base names at any depth; one that ends in a
// slash matches folders only. A start that can't be read is an error.
func Glob(ctx context.Context, fsys Lister, req GlobRequest, yield func(path string) bool) (SearchReport, error) {
	g, err := parseGlob(req.Pattern)
	if err != nil {
		return SearchReport{}, err
	}
	if err := isFolder(ctx, fsys, req.Path); err != nil {
		return SearchReport{}, err
	}
	var report SearchReport
	found := 0
	w := newWalker(fsys)
	w.gitVisible = g.namesGit() || inGit(req.Path)
	w.visit = func(rel string, typ fs.FileMode) bool {
		if !g.matches(rel, typ.IsDir()) {
			return true
		}
		if req.Limit > 0 && found == req.Limit {
			report.Limited = true
			return false
		}
		found++
		if typ.IsDir() {
			rel += "/"
		}
		return yield(rel)
	}
	err = w.walk(ctx, req.Root, req.Path)
	report.Unreadable = w.unreadable
	if _, ok := fsys.(FileSystem); !ok {
		report.Notes = append(report.Notes, "Ignore files can't be read here, so nothing is left out")
	}
	return report, err
}

// glob is a parsed doublestar pattern.
type glob struct {
	pattern string
	base    bool // matches base names
	dirOnly bool
}

func parseGlob(pattern string) (glob, error) {
	g := glob{pattern: pattern}
	if strings.HasSuffix(g.pattern, "/") && g.pattern != "/" {
		g.dirOnly, g.pattern = true, strings.TrimRight(g.pattern, "/")
	}
	g.base = !strings.Contains(g.pattern, "/")
	for strings.HasPrefix(g.pattern, "./") {
		g.pattern = g.pattern[2:]
	}
	g.pattern = strings.TrimPrefix(g.pattern, "/")
	if g.pattern == "" || !doublestar.ValidatePattern(g.pattern) {
		return glob{}, &PatternError{Kind: "glob", Pattern: pattern, Err: errSyntax}
	}
	return g, nil
}

func (g glob) matches(rel string, isDir bool) bool {
	if g.dirOnly && !isDir {
		return false
	}
	if g.base {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(g.pattern, rel)
}

// namesGit reports whether the pattern asks for a .git folder by name.
func (g glob) namesGit() bool {
	for _, s := range strings.Split(g.pattern, "/") {
		if s == ".git" {
			return true
		}
	}
	return false
}

func inGit(p string) bool {
	return strings.HasSuffix(p, "/.git") || strings.Contains(p, "/.git/")
}

func isFolder(ctx context.Context, fsys Lister, p string) error {
	info, err := fsys.Stat(ctx, p)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "search", Path: p, Err: errNotFolder}
	}
	return nil
}

var errNotFolder = errors.New("not a directory")

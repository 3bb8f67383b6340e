package match

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ErrNotDir and ErrNotRegular, in a *fs.PathError, refuse a start that is
// neither what can be searched. The package knows no contract, so who offers a
// search says it in the contract's terms.
var (
	ErrNotDir     = errors.New("not a directory")
	ErrNotRegular = errors.New("not a regular file")
)

var errSyntax = errors.New("syntax error; brackets and braces must be closed")

// noteNoRules is said where ignore files can't be read.
const noteNoRules = "Ignore files can't be read here, so nothing is left out"

// Glob calls yield, from the calling goroutine, with the paths below req.Path
// that match, relative to it, folders ending in "/", in the package's order,
// until yield returns false or the limit is reached. A pattern without a slash
// matches base names at any depth; one that ends in a slash matches folders
// only. Links are entries, and are not followed. Ignore rules need a
// FileSystem; without one a note of the report says so.
//
// A pattern that can't be parsed is a *PatternError, a start that can't be read
// the error of the file system, as is a failed way to all files below it (see
// SearchWith). After ctx has ended the error is that of ctx.
func Glob(ctx context.Context, fsys Lister, req GlobRequest, yield func(path string) bool) (SearchReport, error) {
	pattern := req.Pattern
	if p, ok := strings.CutPrefix(pattern, strings.TrimRight(req.Path, "/")+"/"); ok && p != "" && strings.HasPrefix(req.Path, "/") {
		pattern = "./" + p // an absolute pattern
	}
	g, err := parseGlob(pattern)
	if err != nil {
		return SearchReport{}, &PatternError{Kind: "glob", Pattern: req.Pattern, Err: errSyntax}
	}
	if err := isFolder(ctx, fsys, req.Path); err != nil {
		return SearchReport{}, err
	}
	req.Path = trimSlash(req.Path)
	var report SearchReport
	found := 0
	watched, faults := watch(ctx)
	defer faults.stop()
	w := newWalker(fsys, faults)
	w.gitVisible = g.namesGit() || inGit(req.Path)
	w.descend = g.mayHold
	w.want = func(name string, _ fs.FileMode) bool { return !g.dirOnly && g.mayBe(name) }
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
	err = w.walk(watched, req.Root, req.Path)
	if ctx.Err() == nil {
		err = faults.first(err)
	}
	report.Unreadable = w.unreadable
	if w.files == nil {
		report.Notes = append(report.Notes, noteNoRules)
	}
	return report, err
}

func isFolder(ctx context.Context, fsys Lister, p string) error {
	info, err := fsys.Stat(ctx, p)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "search", Path: p, Err: ErrNotDir}
	}
	return nil
}

// glob is a parsed doublestar pattern.
type glob struct {
	pattern string
	any     []alternative // the pattern with its braces written out
	base    bool          // matches base names
	dirOnly bool          // matches folders only
	fixed   []string      // leading segments without a wildcard; every match is below them
	depth   int           // segments of every match; 0 if that is open
}

func parseGlob(pattern string) (glob, error) {
	bad := &PatternError{Kind: "glob", Pattern: pattern, Err: errSyntax}
	g := glob{pattern: pattern}
	for g.pattern != "/" && (strings.HasSuffix(g.pattern, "/") || strings.HasSuffix(g.pattern, "/.")) {
		g.dirOnly, g.pattern = true, strings.TrimSuffix(strings.TrimSuffix(g.pattern, "."), "/")
	}
	g.base = !strings.Contains(g.pattern, "/")
	for strings.HasPrefix(g.pattern, "./") || strings.HasPrefix(g.pattern, "/") {
		g.pattern = strings.TrimPrefix(strings.TrimPrefix(g.pattern, "."), "/")
	}
	for _, same := range [][2]string{{"/./", "/"}, {"//", "/"}, {"/**/**/", "/**/"}} {
		for strings.Contains(g.pattern, same[0]) {
			g.pattern = strings.ReplaceAll(g.pattern, same[0], same[1])
		}
	}
	for strings.HasPrefix(g.pattern, "**/**/") {
		g.pattern = g.pattern[len("**/"):]
	}
	for strings.HasSuffix(g.pattern, "/**/**") {
		g.pattern = strings.TrimSuffix(g.pattern, "/**")
	}
	if g.pattern == "" || !doublestar.ValidatePattern(g.pattern) {
		return glob{}, bad
	}
	if rest, ok := strings.CutPrefix(g.pattern, "**/"); ok && !strings.ContainsAny(rest, "/") {
		g.base, g.pattern = true, rest
	}
	g.any = alternatives(g.pattern)
	if !g.base {
		g.shape()
	}
	return g, nil
}

// shape learns from the pattern where no match can be.
func (g *glob) shape() {
	segments := strings.Split(g.pattern, "/")
	for _, s := range segments[:len(segments)-1] {
		if strings.ContainsAny(s, `*?[]{}\`) {
			break
		}
		g.fixed = append(g.fixed, s)
	}
	if !strings.Contains(g.pattern, "**") && !strings.ContainsAny(g.pattern, `{[\`) {
		g.depth = len(segments)
	}
}

// matches decides on the entry with that path below the start.
func (g *glob) matches(rel string, isDir bool) bool {
	if g.dirOnly && !isDir {
		return false
	}
	if g.base {
		rel = path.Base(rel)
	}
	return g.fits(rel)
}

func (g *glob) fits(rel string) bool {
	names := strings.Split(rel, "/")
	for _, a := range g.any {
		if a.matches(rel, names) {
			return true
		}
	}
	return false
}

// mayBe reports false for base names that nothing which matches has.
func (g *glob) mayBe(name string) bool {
	return !g.base || g.fits(name)
}

// mayHold reports false for folders below which nothing matches.
func (g *glob) mayHold(rel string) bool {
	if len(g.fixed) == 0 && g.depth == 0 {
		return true
	}
	if g.depth > 0 && strings.Count(rel, "/")+1 >= g.depth {
		return false
	}
	for _, want := range g.fixed {
		name, rest, more := strings.Cut(rel, "/")
		if name != want {
			return false
		}
		if !more {
			break
		}
		rel = rest
	}
	return true
}

// namesGit reports whether the pattern asks for a .git folder by name.
func (g *glob) namesGit() bool {
	for s := range strings.SplitSeq(g.pattern, "/") {
		if s == gitFolder {
			return true
		}
	}
	return false
}

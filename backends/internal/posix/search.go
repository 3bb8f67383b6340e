package posix

import (
	"context"
	"regexp/syntax"
	"strings"

	"github.com/piremote/piremote/tools/match"
	"github.com/piremote/piremote/tools/ops"
)

// Searches reports whether Search and Glob work on the target.
func (e *Engine) Searches() bool {
	p := e.core.probe
	return p.FindNUL && p.XargsNUL && p.HeadBytes && p.Readlink
}

// Glob implements ops.Globber: the tree is listed at the target in one round
// trip and tools/match decides here. Ignore files cost a second one.
func (e *Engine) Glob(ctx context.Context, req ops.GlobRequest, yield func(string) bool) (ops.SearchReport, error) {
	fsys, err := e.lister(ctx, req.Path)
	if err != nil {
		return ops.SearchReport{}, err
	}
	report, err := match.Glob(ctx, fsys, match.GlobRequest(req), yield)
	return ops.SearchReport(report), err
}

// Search implements ops.Searcher. Four round trips do for most: the listing,
// the ignore files, a grep at the target for a text without which the pattern
// can't match, and the files that hold it, which are searched here by
// tools/match. A pattern without such a text moves all files, in batches,
// until the limit is reached.
func (e *Engine) Search(ctx context.Context, req ops.SearchRequest, yield func(ops.SearchLine) bool) (ops.SearchReport, error) {
	fsys, err := e.lister(ctx, req.Path)
	if err != nil {
		return ops.SearchReport{}, err
	}
	if t, ok := fsys.(*tree); ok {
		if err := t.plan(ctx, req); err != nil && ctx.Err() != nil {
			return ops.SearchReport{}, ended(ctx)
		}
		if text := needed(req); text != "" && len(t.order) > 0 {
			if err := t.filter(ctx, text, req.IgnoreCase); err != nil {
				return ops.SearchReport{}, err
			}
		}
	}
	report, err := match.Search(ctx, fsys, match.SearchRequest(req), func(l match.SearchLine) bool {
		return yield(ops.SearchLine(l))
	})
	return ops.SearchReport(report), err
}

// lister returns the prefetched tree, or the engine itself where there is none.
func (e *Engine) lister(ctx context.Context, dir string) (match.FileSystem, error) {
	t, err := e.listTree(ctx, dir)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return e, nil
	}
	return t, t.ignoreFiles(ctx)
}

// needed returns a text that occurs in every line that matches, if there is
// one that grep -F finds alike: without line feeds and, where case is ignored,
// ASCII without k and s, whose other cases are not all ASCII.
func needed(req ops.SearchRequest) string {
	text := req.Pattern
	if !req.Literal {
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return ""
		}
		text = required(re.Simplify())
	}
	if strings.ContainsAny(text, "\n\x00\uFFFD") {
		return ""
	}
	if !req.IgnoreCase {
		return text
	}
	best := ""
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r >= 0x80 || strings.ContainsRune("kKsS", r) }) {
		if len(part) > len(best) {
			best = part
		}
	}
	return best
}

// required returns the longest text that is in every match of re.
func required(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if text := required(sub); len(text) > len(best) {
				best = text
			}
		}
		return best
	default:
	}
	return ""
}

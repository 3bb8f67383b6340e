package posix

import (
	"context"
	"regexp/syntax"
	"slices"
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
// the ignore files, a grep at the target for texts without one of which the pattern
// can't match, and the files that hold one, which are searched here by
// tools/match. A pattern without such texts moves all files, in batches,
// until the limit is reached, or the budget, which the report says.
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
	b := match.NewBudget(e.core.searchBudget)
	report, err := match.Search(ctx, within(fsys, b), match.SearchRequest(req), func(l match.SearchLine) bool {
		return yield(ops.SearchLine(l))
	})
	report.Notes = append(report.Notes, b.Notes()...)
	return ops.SearchReport(report), err
}

// within gives a search's files their budget.
func within(fsys match.FileSystem, b *match.Budget) match.FileSystem {
	if t, ok := fsys.(*tree); ok {
		t.budget = b
		return t
	}
	return b.Within(fsys)
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

// maxTexts is how many texts a search asks for at most.
const maxTexts = 100

// needed returns texts, a line each, of which every line that matches holds at least
// one, if there are such that grep -F finds alike: without line feeds and, where case
// is ignored, ASCII without k and s, whose other cases are not all ASCII. It is empty
// if there are none.
func needed(req ops.SearchRequest) string {
	texts := []string{req.Pattern}
	if !req.Literal {
		re, err := syntax.Parse(req.Pattern, syntax.Perl)
		if err != nil {
			return ""
		}
		texts = required(re.Simplify())
	}
	for i, text := range texts {
		if req.IgnoreCase {
			text = plainCase(text)
		}
		if text == "" || strings.ContainsAny(text, "\n\x00\uFFFD") {
			return ""
		}
		texts[i] = text
	}
	if len(texts) > maxTexts {
		return ""
	}
	return strings.Join(texts, "\n")
}

// plainCase returns the longest part of a text whose cases grep -i knows.
func plainCase(text string) string {
	best := ""
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r >= 0x80 || strings.ContainsRune("kKsS", r) }) {
		if len(part) > len(best) {
			best = part
		}
	}
	return best
}

// required returns texts of which at least one is in every match of re; none if that
// is not known.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if texts := required(sub); shortest(texts) > shortest(best) {
				best = texts
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			texts := required(sub)
			if len(texts) == 0 {
				return nil
			}
			all = append(all, texts...)
		}
		return all
	default:
	}
	return nil
}

// shortest is the length in bytes of the shortest text, which says how much a search
// for them leaves out; 0 for none.
func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(texts, func(a, b string) int { return len(a) - len(b) }))
}

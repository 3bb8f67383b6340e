package tools

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/piremote/piremote/tools/match"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// FindParams are the arguments of find.
type FindParams struct {
	Pattern string `json:"pattern" jsonschema:"Glob to match, such as *.go, **/*.json or src/**/*_test.go; without a slash it matches names at any depth"`
	Path    string `json:"path,omitempty" jsonschema:"Folder to search; default: the working folder"`
	Limit   int    `json:"limit,omitempty" jsonschema:"Maximum number of results (default 1000)"`
}

// FindDetails describes a search for names.
type FindDetails struct {
	Path       string `json:"path"`
	Results    int    `json:"results"`
	Limited    bool   `json:"limited,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"`
	Unreadable int    `json:"unreadable,omitempty"`
}

type findTool struct{ workspace }

func newFind(w workspace, _ Options) (tool.Tool, error) {
	t := findTool{w}
	return schema.Define(schema.Spec[FindParams]{
		Name:  "find",
		Label: "Find files",
		Description: fmt.Sprintf("Find files and folders by glob; shows paths relative to the searched folder. "+
			"Respects .gitignore, includes hidden files. At most %d results or %s.",
			findLimit, textout.FormatSize(textout.DefaultMaxBytes)),
		Access: tool.AccessRead,
		Prompt: tool.Prompt{
			Snippet:    "Find files by name",
			Guidelines: []string{"Prefer find to listing with bash: it is faster and respects .gitignore."},
		},
		Adjust: func(s *jsonschema.Schema) {
			bound(s, "limit")
			n := 1
			s.Properties["pattern"].MinLength = &n
		},
		Execute: t.execute,
	})
}

func (t findTool) execute(ctx context.Context, call tool.Call, p FindParams, _ tool.Update) (tool.Result, error) {
	limit := findLimit
	if p.Limit > 0 {
		limit = p.Limit
	}
	var list *lister
	var report ops.SearchReport
	results := 0
	abs, used, err := t.locate(ctx, orDot(p.Path), call.Scope, true, func(abs, _ string) (err error) {
		list, results = newLister(), 0
		report, err = t.glob(ctx, ops.GlobRequest{Root: t.root(call.Scope), Path: abs, Pattern: p.Pattern, Limit: limit},
			func(name string) bool {
				if !list.add(show(name)) {
					return false
				}
				results++
				return true
			})
		return err
	})
	if err != nil {
		return tool.Result{}, t.searchError("search", orDot(p.Path), err)
	}
	notes := usedNote(p.Path, used)
	if report.Limited {
		notes = append(notes, limitNote(fmt.Sprintf("%d results limit reached", limit), limit, "refine the pattern"))
	}
	notes = reportNotes(list.note(notes), report)
	text := list.text()
	if text == "" {
		text = "No files found matching pattern"
	}
	result := tool.TextResult(bracket(text, notes))
	result.Details = FindDetails{
		Path: abs, Results: results, Limited: report.Limited, Truncated: list.full, Unreadable: report.Unreadable,
	}
	result.Effects = []tool.Effect{{Workspace: t.set.Target.Label, Operation: "search", Path: abs}}
	return result, nil
}

// glob runs where the files are, if the workspace can, else here over the
// operations.
func (t findTool) glob(ctx context.Context, req ops.GlobRequest, yield func(string) bool) (ops.SearchReport, error) {
	if g, ok := t.set.Find.(ops.Globber); ok {
		return g.Glob(ctx, req, yield)
	}
	report, err := match.Glob(ctx, t.set.Find, match.GlobRequest(req), yield)
	return ops.SearchReport(report), err
}

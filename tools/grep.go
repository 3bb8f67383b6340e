package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/piremote/piremote/tools/match"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// Limits of grep, find and ls.
const (
	grepLimit    = 100
	grepLineSize = 500
	findLimit    = 1000
	lsLimit      = 500
	maxLimit     = 100_000
)

// GrepParams are the arguments of grep.
type GrepParams struct {
	Pattern    string `json:"pattern" jsonschema:"Regular expression (RE2 syntax) to search for, or text if literal is true"`
	Path       string `json:"path,omitempty" jsonschema:"Folder or file to search; default: the working folder"`
	Glob       string `json:"glob,omitempty" jsonschema:"Only files that match this glob, such as *.go or src/**/*.ts"`
	IgnoreCase bool   `json:"ignoreCase,omitempty" jsonschema:"Ignore upper and lower case"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"Take the pattern as plain text"`
	Context    int    `json:"context,omitempty" jsonschema:"Lines to show before and after each match"`
	Limit      int    `json:"limit,omitempty" jsonschema:"Maximum number of matches (default 100)"`
}

// GrepDetails describes a search.
type GrepDetails struct {
	Path       string `json:"path"`
	Matches    int    `json:"matches"`
	Limited    bool   `json:"limited,omitempty"`    // stopped at the limit of matches
	Truncated  bool   `json:"truncated,omitempty"`  // stopped at the limit of bytes
	LinesCut   bool   `json:"linesCut,omitempty"`   // some lines are shown in part
	Unreadable int    `json:"unreadable,omitempty"` // paths that could not be read
}

type grepTool struct{ workspace }

func newGrep(w workspace, _ Options) (tool.Tool, error) {
	t := grepTool{w}
	return schema.Define(schema.Spec[GrepParams]{
		Name:  "grep",
		Label: "Search contents",
		Description: fmt.Sprintf("Search the contents of files for a pattern; shows path, line number and line. "+
			"Respects .gitignore, includes hidden files. At most %d matches or %s; long lines are cut to %d characters.",
			grepLimit, textout.FormatSize(textout.DefaultMaxBytes), grepLineSize),
		Access: tool.AccessRead,
		Prompt: tool.Prompt{
			Snippet:    "Search file contents",
			Guidelines: []string{"Prefer grep to searching with bash: it is faster and respects .gitignore."},
		},
		Adjust: func(s *jsonschema.Schema) {
			zero := 0.0
			bound(s, "limit")
			s.Properties["context"].Minimum = &zero
			n := 1
			s.Properties["pattern"].MinLength = &n
		},
		Execute: t.execute,
	})
}

// bound limits an integer property to 1 … maxLimit.
func bound(s *jsonschema.Schema, property string) {
	low, high := 1.0, float64(maxLimit)
	s.Properties[property].Minimum, s.Properties[property].Maximum = &low, &high
}

func (t grepTool) execute(ctx context.Context, call tool.Call, p GrepParams, _ tool.Update) (tool.Result, error) {
	limit := grepLimit
	if p.Limit > 0 {
		limit = p.Limit
	}
	var list *lister
	var report ops.SearchReport
	details := GrepDetails{}
	abs, used, err := t.locate(ctx, orDot(p.Path), call.Scope, true, func(abs, _ string) (err error) {
		list, details = newLister(), GrepDetails{}
		report, err = t.search(ctx, ops.SearchRequest{
			Root: t.root(call.Scope), Path: abs, Pattern: p.Pattern, Literal: p.Literal, IgnoreCase: p.IgnoreCase,
			Glob: p.Glob, Context: min(p.Context, maxLimit), Limit: limit, MaxLine: grepLineSize,
		}, func(l ops.SearchLine) bool {
			if !list.add(searchLine(l)) {
				return false
			}
			details.LinesCut = details.LinesCut || l.Cut
			if !l.Context {
				details.Matches++
			}
			return true
		})
		return err
	})
	if err != nil {
		return tool.Result{}, t.searchError("search", orDot(p.Path), err)
	}
	details.Path, details.Limited, details.Truncated, details.Unreadable = abs, report.Limited, list.full, report.Unreadable

	notes := usedNote(p.Path, used)
	if report.Limited {
		notes = append(notes, limitNote(fmt.Sprintf("%d matches limit reached", limit), limit, "refine the pattern"))
	}
	notes = list.note(notes)
	if details.LinesCut {
		notes = append(notes, fmt.Sprintf("Some lines are cut to %d characters. Use read to see them whole", grepLineSize))
	}
	notes = reportNotes(notes, report)
	text := list.text()
	if text == "" {
		text = "No matches found"
	}
	result := tool.TextResult(bracket(text, notes))
	result.Details = details
	result.Effects = []tool.Effect{{Workspace: t.set.Target.Label, Operation: "search", Path: abs}}
	return result, nil
}

// search runs where the files are, if the workspace can, else here over the
// operations.
func (t grepTool) search(ctx context.Context, req ops.SearchRequest, yield func(ops.SearchLine) bool) (ops.SearchReport, error) {
	if s, ok := t.set.Grep.(ops.Searcher); ok {
		return s.Search(ctx, req, yield)
	}
	fsys, budget := match.FileSystem(t.set.Grep), match.NewBudget(match.DefaultBudget)
	if _, streams := fsys.(match.Opener); !streams {
		fsys = budget.Within(fsys)
	}
	report, err := match.Search(ctx, fsys, match.SearchRequest(req), func(l match.SearchLine) bool {
		return yield(ops.SearchLine(l))
	})
	report.Notes = append(report.Notes, budget.Notes()...)
	return ops.SearchReport(report), err
}

func searchLine(l ops.SearchLine) string {
	switch name := show(l.Path); {
	case l.Binary:
		return name + ": binary file matches"
	case l.Context:
		return fmt.Sprintf("%s-%d- %s", name, l.Line, cleanLine(l.Text))
	default:
		return fmt.Sprintf("%s:%d: %s", name, l.Line, cleanLine(l.Text))
	}
}

// cleanLine makes a line of a file fit to stand among others.
func cleanLine(s string) string {
	return textout.Clean(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r", ""))
}

// searchError explains why a search could not run.
func (w workspace) searchError(verb, arg string, err error) error {
	var bad *match.PatternError
	if errors.As(err, &bad) {
		return err
	}
	return w.fileError(verb, arg, err)
}

func orDot(p string) string { return or(p, ".") }

// usedNote says which name stands for the one that was given. One of our own
// escapes is no other name.
func usedNote(arg, used string) []string {
	if used == "" || used == unescape(arg) {
		return nil
	}
	return []string{fmt.Sprintf("%s does not exist; this is %s", show(arg), show(used))}
}

func reportNotes(notes []string, report ops.SearchReport) []string {
	if report.Unreadable > 0 {
		notes = append(notes, plural(int64(report.Unreadable), "path", "paths")+" could not be read")
	}
	return append(notes, report.Notes...)
}

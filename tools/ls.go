package tools

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// LsParams are the arguments of ls.
type LsParams struct {
	Path  string `json:"path,omitempty" jsonschema:"Folder to list; default: the working folder"`
	Limit int    `json:"limit,omitempty" jsonschema:"Maximum number of entries (default 500)"`
}

// LsDetails describes a listing.
type LsDetails struct {
	Path      string `json:"path"`
	Entries   int    `json:"entries"` // in the folder
	Limited   bool   `json:"limited,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

type lsTool struct{ workspace }

func newLs(w workspace, _ Options) (tool.Tool, error) {
	t := lsTool{w}
	return schema.Define(schema.Spec[LsParams]{
		Name:  "ls",
		Label: "List folder",
		Description: fmt.Sprintf("List a folder: names in alphabetical order, \"/\" after folders, \"@\" after links, dotfiles included. "+
			"At most %d entries or %s.", lsLimit, textout.FormatSize(textout.DefaultMaxBytes)),
		Access: tool.AccessRead,
		Prompt: tool.Prompt{
			Snippet:    "List a folder",
			Guidelines: []string{"Use ls to see what a folder holds."},
		},
		Adjust:  func(s *jsonschema.Schema) { bound(s, "limit") },
		Execute: t.execute,
	})
}

func (t lsTool) execute(ctx context.Context, call tool.Call, p LsParams, _ tool.Update) (tool.Result, error) {
	limit := lsLimit
	if p.Limit > 0 {
		limit = p.Limit
	}
	entries := &firstEntries{limit: limit}
	abs, used, err := t.locate(ctx, orDot(p.Path), call.Scope, true, func(abs, _ string) error {
		entries = &firstEntries{limit: limit}
		return t.set.Ls.ReadDir(ctx, abs, func(e fs.DirEntry) bool {
			entries.add(e)
			return ctx.Err() == nil
		})
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return tool.Result{}, t.fileError("list", orDot(p.Path), err)
	}
	list := newLister()
	for _, e := range entries.sorted() {
		if !list.add(show(e.name) + e.mark) {
			break
		}
	}
	notes := usedNote(p.Path, used)
	if entries.seen > limit {
		notes = append(notes, limitNote(fmt.Sprintf("%d entries limit reached, the folder has %d", limit, entries.seen), limit, "use find with a pattern"))
	}
	notes = list.note(notes)
	text := list.text()
	if entries.seen == 0 {
		text = "(empty directory)"
	}
	result := tool.TextResult(bracket(text, notes))
	result.Details = LsDetails{Path: abs, Entries: entries.seen, Limited: entries.seen > limit, Truncated: list.full}
	result.Effects = []tool.Effect{{Workspace: t.set.Target.Label, Operation: "list", Path: abs}}
	return result, nil
}

type lsEntry struct {
	folded, name, mark string
}

// before is the order of a listing: case is ignored unless nothing else differs.
func (e lsEntry) compare(o lsEntry) int {
	return cmp.Or(strings.Compare(e.folded, o.folded), strings.Compare(e.name, o.name))
}

// firstEntries keeps the first entries of a folder in the order of a listing,
// in memory bounded by its limit and not by the folder (hazard LS-04). It is a
// heap whose root is the last of them.
type firstEntries struct {
	limit int
	seen  int
	list  []lsEntry
}

func (f *firstEntries) add(e fs.DirEntry) {
	f.seen++
	entry := lsEntry{folded: strings.ToLower(e.Name()), name: e.Name(), mark: mark(e)}
	if len(f.list) < f.limit {
		heap.Push(f, entry)
		return
	}
	if entry.compare(f.list[0]) < 0 {
		f.list[0] = entry
		heap.Fix(f, 0)
	}
}

func (f *firstEntries) sorted() []lsEntry {
	slices.SortFunc(f.list, lsEntry.compare)
	return f.list
}

func (f *firstEntries) Len() int           { return len(f.list) }
func (f *firstEntries) Less(i, j int) bool { return f.list[i].compare(f.list[j]) > 0 }
func (f *firstEntries) Swap(i, j int)      { f.list[i], f.list[j] = f.list[j], f.list[i] }
func (f *firstEntries) Push(x any)         { f.list = append(f.list, x.(lsEntry)) } //nolint:forcetypeassert // only add pushes
func (f *firstEntries) Pop() any           { panic("firstEntries: nothing is popped") }

func mark(e fs.DirEntry) string {
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		return "@"
	case e.IsDir():
		return "/"
	}
	return ""
}

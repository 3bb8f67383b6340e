package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/tool"
)

// WriteParams are the arguments of write.
type WriteParams struct {
	Path    string `json:"path" jsonschema:"Path of the file to write (relative or absolute)"`
	Content string `json:"content" jsonschema:"The whole new content of the file"`
}

// WriteDetails describes what write did.
type WriteDetails struct {
	Path    string `json:"path"` // canonical, on the target
	Used    string `json:"used,omitempty"`
	Created bool   `json:"created"`
	Bytes   int    `json:"bytes"`
	InPlace string `json:"inPlace,omitempty"` // why the file was not replaced atomically
	Kept    string `json:"kept,omitempty"`    // name beside it under which the replaced file goes on; see ops.WriteReport
}

type writeTool struct{ workspace }

func newWrite(w workspace, _ Options) (tool.Tool, error) {
	t := writeTool{w}
	reserve := func(call tool.Call, p WriteParams) tool.Reservation {
		return t.reserve(call, "write", p.Path, func(ctx context.Context, _ tool.Update) (tool.Result, error) {
			return t.write(ctx, call, p)
		})
	}
	return schema.Define(schema.Spec[WriteParams]{
		Name:  "write",
		Label: "Write file",
		Description: "Write a whole file of the workspace: creates it, and the folders above it, if needed, " +
			"and replaces what it held.",
		Access: tool.AccessWrite,
		Prompt: tool.Prompt{
			Snippet:    "Create or replace a file",
			Guidelines: []string{"Use write only for new files or complete rewrites."},
		},
		Prepare: rejectLoneSurrogates,
		Execute: func(ctx context.Context, call tool.Call, p WriteParams, update tool.Update) (tool.Result, error) {
			return reserve(call, p).Execute(ctx, update)
		},
		Reserve: reserve,
	})
}

func (t writeTool) write(ctx context.Context, call tool.Call, p WriteParams) (tool.Result, error) {
	if strings.HasSuffix(p.Path, "/") {
		return tool.Result{}, t.fileError("write", p.Path, &fs.PathError{Op: "write", Path: p.Path, Err: ops.ErrIsDir})
	}
	data := []byte(p.Content)
	abs, used, err := t.target(ctx, p.Path, call.Scope)
	if err != nil {
		return tool.Result{}, err
	}
	var report ops.WriteReport
	replace := func(ctx context.Context) (err error) {
		report, err = t.overwrite(ctx, t.file(call, abs), or(used, p.Path), data)
		return err
	}
	if used != "" {
		// The call's place is that of the exact name; this is another file.
		err = t.set.Mutations.Mutate(ctx, abs, replace)
	} else {
		err = replace(ctx)
	}
	if err != nil {
		told := t.fileError("write", p.Path, err)
		var tree *ops.TreeError
		if errors.As(err, &tree) {
			told = &failure{text: told.Error() + " The folders above it exist now.", err: err}
		}
		return tool.Result{}, told
	}
	result := tool.TextResult("Successfully wrote to " + show(or(used, p.Path)) + keptAs(report))
	result.Details = WriteDetails{
		Path: report.Path, Used: used, Created: report.Created, Bytes: len(data), InPlace: report.InPlace, Kept: report.Kept,
	}
	result.Effects = []tool.Effect{{Workspace: t.set.Target.Label, Operation: "write", Path: report.Path, After: steps.Hash(data)}}
	return result, nil
}

// writeTree writes a file and the folders above it, in one step where the
// workspace can.
func (t writeTool) writeTree(ctx context.Context, abs string, data []byte) (ops.WriteReport, error) {
	if w, ok := t.set.Write.(ops.TreeWriter); ok {
		return w.WriteTree(ctx, abs, data)
	}
	return steps.WriteTree(ctx, t.set.Write, abs, data)
}

// target is the file that a write means: the exact name, unless only one of its
// alternatives exists. If that can't be found out, nothing is written.
func (t writeTool) target(ctx context.Context, arg string, scope tool.Scope) (abs, used string, err error) {
	abs, err = t.resolve(arg, scope)
	if err != nil || t.set.Read == nil || len(alternatives(arg)) == 0 {
		return abs, "", err
	}
	found, alt, err := t.locate(ctx, arg, scope, false, func(p, _ string) error {
		return t.set.Read.Access(ctx, p)
	})
	is := func(kinds ...error) bool {
		return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
	}
	switch {
	case err == nil || is(fs.ErrPermission, ops.ErrIsDir, ops.ErrNotRegular):
		return found, alt, nil // it is there
	case ops.KindOf(err) == "" && is(fs.ErrNotExist, ops.ErrNotDir, ops.ErrOutside, ops.ErrLoop):
		return abs, "", nil
	}
	return "", "", t.fileError("write", arg, err)
}

// keptAs says where the replaced file is if another program had to do with it.
func keptAs(r ops.WriteReport) string {
	if r.Kept == "" {
		return ""
	}
	return fmt.Sprintf(". Another program changed the old file in that moment, or has it open for writing: that one is kept as %s beside it. Compare the two.", show(r.Kept))
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

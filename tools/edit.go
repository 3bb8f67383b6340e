package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/tool"
)

// EditParams are the arguments of edit.
type EditParams struct {
	Path  string            `json:"path" jsonschema:"Path of the file to edit (relative or absolute)"`
	Edits []EditReplacement `json:"edits" jsonschema:"Replacements, all matched against the original file; they must not overlap"`
}

// EditReplacement is one replacement.
type EditReplacement struct {
	OldText string `json:"oldText" jsonschema:"Exact text to replace; it must occur exactly once in the file"`
	NewText string `json:"newText" jsonschema:"Text to put there instead"`
}

// EditDetails describes what edit changed.
type EditDetails struct {
	Path             string `json:"path"` // canonical, on the target
	Used             string `json:"used,omitempty"`
	Diff             string `json:"diff"`
	Patch            string `json:"patch"`
	FirstChangedLine int    `json:"firstChangedLine"`
	Tolerant         []int  `json:"tolerant,omitempty"` // edits that matched only tolerantly
	InPlace          string `json:"inPlace,omitempty"`
	Kept             string `json:"kept,omitempty"` // as in WriteDetails
	// ChangedElsewhere says that somebody else has changed the file since the
	// session saw it, and that the edited places are as they were shown, or were
	// never shown.
	ChangedElsewhere bool `json:"changedElsewhere,omitempty"`
}

// maxEditBytes bounds the size of a file that can be edited.
const maxEditBytes = 64 << 20

type editTool struct{ workspace }

func newEdit(w workspace, _ Options) (tool.Tool, error) {
	t := editTool{w}
	reserve := func(call tool.Call, p EditParams) tool.Reservation {
		return t.reserve(call, "edit", p.Path, func(ctx context.Context, _ tool.Update) (tool.Result, error) {
			return t.edit(ctx, call, p)
		})
	}
	return schema.Define(schema.Spec[EditParams]{
		Name:  "edit",
		Label: "Edit file",
		Description: "Replace exact pieces of text in a file of the workspace. Every oldText must occur exactly once; " +
			"all edits are matched against the original, so they must not overlap.",
		Access: tool.AccessWrite,
		Prompt: tool.Prompt{
			Snippet: "Replace exact text in a file",
			Guidelines: []string{
				"Use edit for precise changes; keep each oldText as short as is unique.",
				"Put several changes of one file into one edit call.",
			},
		},
		Adjust: func(s *jsonschema.Schema) {
			one := 1
			s.Properties["edits"].MinItems = &one
		},
		Prepare: prepareEdit,
		Execute: func(ctx context.Context, call tool.Call, p EditParams, update tool.Update) (tool.Result, error) {
			return reserve(call, p).Execute(ctx, update)
		},
		Reserve: reserve,
	})
}

func (t editTool) edit(ctx context.Context, call tool.Call, p EditParams) (tool.Result, error) {
	req := ops.EditRequest{Limit: maxEditBytes, Edits: make([]ops.Replacement, len(p.Edits))}
	for i, e := range p.Edits {
		req.Edits[i] = ops.Replacement{Old: e.OldText, New: e.NewText}
	}
	var report ops.EditReport
	moved := false
	_, used, err := t.locate(ctx, p.Path, call.Scope, false, func(abs, used string) error {
		edit := func(ctx context.Context) (err error) {
			req.Name = show(or(used, p.Path))
			report, moved, err = t.revise(ctx, t.file(call, abs), req)
			return err
		}
		if used == "" {
			return edit(ctx)
		}
		// The call's place is that of the exact name; this is another file.
		return t.set.Mutations.Mutate(ctx, abs, edit)
	})
	var mismatch *ops.MismatchError
	switch {
	case errors.As(err, &mismatch):
		return tool.Result{}, mismatch
	case err != nil:
		return tool.Result{}, t.fileError("edit", p.Path, err)
	}
	result := tool.TextResult(fmt.Sprintf("Successfully replaced %s in %s%s",
		plural(int64(len(p.Edits)), "block", "blocks"), show(or(used, p.Path)), or(keptAs(report.WriteReport), ".")))
	result.Details = EditDetails{
		Path: report.Path, Used: used, Diff: report.Diff, Patch: report.Patch,
		FirstChangedLine: report.FirstChangedLine, Tolerant: report.Tolerant, InPlace: report.InPlace, Kept: report.Kept, ChangedElsewhere: moved,
	}
	result.Effects = []tool.Effect{{
		Workspace: t.set.Target.Label, Operation: "edit", Path: report.Path,
		Before: report.Before, After: report.After,
	}}
	return result, nil
}

// prepareEdit accepts the shapes that models and older transcripts use: edits
// as a JSON string, one edit instead of an array, oldText and newText at the
// top level.
func prepareEdit(args json.RawMessage) (json.RawMessage, error) {
	if _, err := rejectLoneSurrogates(args); err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(args, &object) != nil {
		return args, nil //nolint:nilerr // validation explains it
	}
	edits := bytes.TrimSpace(object["edits"])
	if len(edits) > 0 && edits[0] == '"' {
		var text string
		if json.Unmarshal(edits, &text) == nil && json.Valid([]byte(text)) {
			edits = bytes.TrimSpace([]byte(text))
		}
	}
	if len(edits) > 0 && edits[0] == '{' {
		edits = bytes.Join([][]byte{[]byte("["), edits, []byte("]")}, nil)
	}
	oldText, hasOld := object["oldText"]
	newText, hasNew := object["newText"]
	if hasOld && hasNew {
		one, err := json.Marshal(map[string]json.RawMessage{"oldText": oldText, "newText": newText})
		if err != nil {
			return args, nil //nolint:nilerr // validation explains it
		}
		switch {
		case len(edits) == 0 || bytes.Equal(edits, []byte("null")) || bytes.Equal(edits, []byte("[]")):
			edits = bytes.Join([][]byte{[]byte("["), one, []byte("]")}, nil)
		case edits[0] == '[':
			edits = bytes.Join([][]byte{edits[:len(edits)-1], []byte(","), one, []byte("]")}, nil)
		}
		delete(object, "oldText")
		delete(object, "newText")
	}
	if len(edits) > 0 {
		object["edits"] = edits
	}
	return json.Marshal(object)
}

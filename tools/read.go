package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"mvdan.cc/sh/v3/syntax"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/schema"
	"github.com/piremote/piremote/tools/sniff"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// ReadParams are the arguments of read.
type ReadParams struct {
	Path   string `json:"path" jsonschema:"Path of the file to read (relative or absolute)"`
	Offset int    `json:"offset,omitempty" jsonschema:"Line to start at, counted from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"Maximum number of lines to read"`
}

// ReadDetails describes what read showed.
type ReadDetails struct {
	Path       string `json:"path"`           // absolute, on the target
	Used       string `json:"used,omitempty"` // the name that was read instead of the given one
	Size       int64  `json:"size"`
	FirstLine  int    `json:"firstLine,omitempty"`
	Lines      int    `json:"lines,omitempty"`
	TotalLines int    `json:"totalLines,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"`
	MIMEType   string `json:"mimeType,omitempty"`
	Kind       string `json:"kind,omitempty"` // of a binary file
}

type readTool struct{ workspace }

func newRead(w workspace, _ Options) (tool.Tool, error) {
	t := readTool{w}
	return schema.Define(schema.Spec[ReadParams]{
		Name:  "read",
		Label: "Read file",
		Description: fmt.Sprintf("Read a file of the workspace. Text is shown up to %d lines or %s, whichever comes first; "+
			"use offset and limit for more. Images (png, jpeg, gif, webp, bmp) are shown as images.",
			textout.DefaultMaxLines, textout.FormatSize(textout.DefaultMaxBytes)),
		Access: tool.AccessRead,
		Prompt: tool.Prompt{
			Snippet:    "Read a file",
			Guidelines: []string{"Use read to look at files instead of cat or sed."},
		},
		Adjust: func(s *jsonschema.Schema) {
			one := 1.0
			s.Properties["offset"].Minimum = &one
			s.Properties["limit"].Minimum = &one
		},
		Prepare: rejectLoneSurrogates,
		Execute: t.execute,
		Reserve: func(call tool.Call, p ReadParams) tool.Reservation {
			return t.reserve(call, "read", p.Path, func(ctx context.Context, _ tool.Update) (tool.Result, error) {
				return t.read(ctx, call, p)
			})
		},
	})
}

func (t readTool) execute(ctx context.Context, call tool.Call, p ReadParams, update tool.Update) (tool.Result, error) {
	return t.reserve(call, "read", p.Path, func(ctx context.Context, _ tool.Update) (tool.Result, error) {
		return t.read(ctx, call, p)
	}).Execute(ctx, update)
}

func (t readTool) read(ctx context.Context, call tool.Call, p ReadParams) (tool.Result, error) {
	req := ops.WindowRequest{Offset: max(p.Offset, 1), Limit: textout.DefaultMaxLines, MaxBytes: textout.DefaultMaxBytes}
	if p.Limit > 0 {
		req.Limit = min(p.Limit, req.Limit)
	}
	var win ops.Window
	abs, used, err := t.locate(ctx, p.Path, call.Scope, true, func(abs, _ string) (err error) {
		win, err = readWindow(ctx, t.set.Read, abs, req)
		return err
	})
	if err != nil {
		return tool.Result{}, t.fileError("read", p.Path, err)
	}
	details := ReadDetails{Path: abs, Used: used, Size: win.Size}
	result := tool.Result{Effects: []tool.Effect{{Workspace: t.set.Target.Label, Operation: "read", Path: abs}}}

	if mime := sniff.Image(win.Head); mime != "" {
		return t.image(ctx, call, p, mime, details, result)
	}
	if kind := sniff.Detect(win.Head); kind.Binary {
		details.Kind = kind.Name
		result.Content = []tool.Content{tool.Text{Text: fmt.Sprintf("[Binary file, not shown: %s, %s]", kind.Name, textout.FormatSize(win.Size))}}
		result.Details = details
		return result, nil
	}
	if req.Offset > 1 && req.Offset > win.TotalLines {
		return tool.Result{}, fmt.Errorf("Offset %d is beyond end of file (%d lines total)", req.Offset, win.TotalLines) //nolint:staticcheck // the sentence that the specification fixes
	}
	details.FirstLine, details.Lines, details.TotalLines = req.Offset, win.Lines, win.TotalLines
	t.seen.shown(t.file(call, abs), win.Size, win.Version, window{first: req.Offset, text: string(win.Data), last: req.Offset-1+win.Lines == win.TotalLines})
	details.Truncated = win.LineBytes > 0 || req.Offset-1+win.Lines < win.TotalLines
	result.Details = details
	result.Content = []tool.Content{tool.Text{Text: windowText(p, abs, used, req, win)}}
	return result, nil
}

// windowText is the text of a window and, in brackets, what was left out.
func windowText(p ReadParams, abs, used string, req ops.WindowRequest, win ops.Window) string {
	text := string(win.Data)
	notes := usedNote(p.Path, used)
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		notes = append(notes, "The file is not valid UTF-8; invalid bytes are shown as \uFFFD")
	}
	if req.Offset == 1 {
		text = strings.TrimPrefix(text, "\uFEFF")
	}
	last := req.Offset - 1 + win.Lines
	next := last + 1
	switch {
	case win.LineBytes > 0:
		notes = append(notes, fmt.Sprintf("Line %d is %s, over the %s limit. Its start: sed -n '%dp' %s | head -c %d",
			req.Offset, textout.FormatSize(win.LineBytes), textout.FormatSize(int64(req.MaxBytes)), req.Offset, shellWord(abs), req.MaxBytes))
		if next = req.Offset + 1; next <= win.TotalLines {
			notes = append(notes, fmt.Sprintf("Use offset=%d to continue behind it", next))
		}
	case last >= win.TotalLines:
		if text == "" {
			text = "(empty file)" // or one with a byte order mark alone
		}
	case win.Lines == p.Limit:
		notes = append(notes, fmt.Sprintf("%s in file. Use offset=%d to continue",
			plural(int64(win.TotalLines-last), "more line", "more lines"), next))
	case win.Lines < req.Limit:
		notes = append(notes, fmt.Sprintf("Showing lines %d-%d of %d (%s limit). Use offset=%d to continue",
			req.Offset, last, win.TotalLines, textout.FormatSize(int64(req.MaxBytes)), next))
	default:
		notes = append(notes, fmt.Sprintf("Showing lines %d-%d of %d. Use offset=%d to continue", req.Offset, last, win.TotalLines, next))
	}
	return bracket(text, notes)
}

// maxImageBytes bounds what is fetched of an image before it is made smaller.
const maxImageBytes = 64 << 20

func (t readTool) image(ctx context.Context, call tool.Call, p ReadParams, mime string, details ReadDetails, result tool.Result) (tool.Result, error) {
	details.MIMEType = mime
	note := fmt.Sprintf("[Image %s, %s: %s]", mime, textout.FormatSize(details.Size), show(p.Path))
	if v := call.Scope.Vision; v != nil && !*v {
		result.Content = []tool.Content{tool.Text{Text: note + "\n[The current model cannot see images.]"}}
		result.Details = details
		return result, nil
	}
	data, err := t.set.Read.ReadFile(ctx, details.Path, maxImageBytes)
	if err != nil {
		return tool.Result{}, t.fileError("read", p.Path, err)
	}
	out, outMIME, fit, err := sniff.FitImage(data, sniff.FitOptions{})
	if err != nil {
		result.Content = []tool.Content{tool.Text{Text: fmt.Sprintf("%s\n[It cannot be shown: %v.]", note, err)}}
		result.Details = details
		return result, nil
	}
	if fit.Changed {
		note += fmt.Sprintf("\n[Shown at %dx%d, original %dx%d. Multiply coordinates by %.2f.]",
			fit.Width, fit.Height, fit.OriginalWidth, fit.OriginalHeight, float64(fit.OriginalWidth)/float64(max(fit.Width, 1)))
	}
	details.MIMEType = outMIME
	result.Details = details
	result.Content = []tool.Content{tool.Text{Text: note}, tool.Image{Data: out, MIMEType: outMIME}}
	return result, nil
}

// rejectLoneSurrogates refuses arguments with half of a UTF-16 pair, which JSON
// can spell and no file can hold; decoding would silently change it (hazard
// WRIT-02).
func rejectLoneSurrogates(args json.RawMessage) (json.RawMessage, error) {
	if i := loneSurrogate(args); i >= 0 {
		return nil, fmt.Errorf(`the arguments contain %s, half of a surrogate pair, which is no text: send the whole character`, args[i:i+6])
	}
	return args, nil
}

// shellWord spells a path as one word of a shell command.
func shellWord(p string) string {
	word, err := syntax.Quote(p, syntax.LangBash)
	if err != nil {
		return show(p) // only a NUL byte can't be quoted, and no path has one
	}
	return word
}

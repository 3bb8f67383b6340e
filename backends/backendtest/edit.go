package backendtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
)

func editChecks() []Check {
	return []Check{
		{Name: "EditApplies", Rule: "an edit leaves the bytes, and reports what, a read, the replacements and a write would (EDIT-01 to EDIT-07)", Run: editApplies},
		{Name: "EditKeepsMode", Rule: "an edited file keeps its mode", Run: editKeepsMode},
		{Name: "EditFollowsLink", Rule: "the target of a link is edited and the link stays; the report has the canonical path (WRIT-03)", Run: editFollowsLink},
		{Name: "EditKeepsHardLinks", Rule: "a file with several names is edited in place, and the report says so (WRIT-03)", Run: editKeepsHardLinks},
		{Name: "EditMismatch", Rule: "replacements that do not apply are a *MismatchError with the text of the plain path, and nothing is written", Run: editMismatch},
		{Name: "EditRefused", Rule: "what can't be read or written fails as there and keeps its bytes", Run: editRefused},
		{Name: "EditLimit", Rule: "a file above the limit is ErrTooLarge, one at the limit is edited", Run: editLimit},
		{Name: "EditExpects", Rule: "a file that is not as expected is ErrChanged and keeps its bytes, one that is is edited (MUTQ-03)", Run: editExpects},
		{Name: "EditLosesNothing", Rule: "of edits of one file under two names at the same time each is in the file, or fails with ErrChanged (MUTQ-04)", Run: editLosesNothing},
		{Name: "EditConfined", Rule: "an edit of what lies outside is ErrOutside (CONF-02)", Run: editConfined},
		{Name: "CancelledEdit", Rule: "an edit cancelled before it began is context.Canceled and has no effect", Run: cancelledEdit},
	}
}

func (w *Workspace) editor() (ops.Editor, error) {
	if e, ok := w.Set.Edit.(ops.Editor); ok {
		return e, nil
	}
	return nil, fmt.Errorf("edits: %w", ErrAbsent)
}

// edited is a request of one replacement in a file that messages call so.
func edited(name, old, text string) ops.EditRequest {
	return ops.EditRequest{Name: name, Edits: []ops.Replacement{{Old: old, New: text}}}
}

func editApplies(ctx context.Context, w *Workspace) error {
	e, err := w.editor()
	if err != nil {
		return err
	}
	lines := strings.Repeat("a line of it\n", 3000)
	for i, c := range []struct {
		text  string
		edits []ops.Replacement
	}{
		{"one\ntwo\nthree\n", []ops.Replacement{{Old: "two", New: "2"}}},
		{"one\ntwo\nthree\n", []ops.Replacement{{Old: "three\n", New: ""}, {Old: "one", New: "1\n1"}}},
		{"\uFEFFone\r\ntwo\r\nthree", []ops.Replacement{{Old: "one\ntwo", New: "1\n2"}}},
		{"\xff\xfe\x00 one \x80\n", []ops.Replacement{{Old: "one", New: "$1 %s \\1"}}},
		{"  if (x)  {\n  }\n", []ops.Replacement{{Old: "if (x)  {  ", New: "unless"}}},
		{"it\u2019s \u201Cso\u201D\n", []ops.Replacement{{Old: `it's "so"`, New: "it is"}}},
		{lines + "the end\n" + lines, []ops.Replacement{{Old: "the end", New: "not the end"}}},
	} {
		p, req := w.at(fmt.Sprint("file-", i)), ops.EditRequest{Name: "a file", Edits: c.edits}
		if err := w.Fixture.PutFile(p, []byte(c.text), 0o644); err != nil {
			return err
		}
		data, want, werr := steps.Apply([]byte(c.text), req)
		want.Path = w.Set.Target.Root + p[len(w.Set.Target.Dir):]
		got, err := e.EditFile(ctx, p, req)
		if err := first(werr, err, holds(w.Fixture, p, data), sameReport(got, want)); err != nil {
			return fmt.Errorf("case %d: %w", i, err)
		}
	}
	return nil
}

func sameReport(got, want ops.EditReport) error {
	if !slices.Equal(got.Tolerant, want.Tolerant) {
		return fmt.Errorf("the field Tolerant is %v, want %v", got.Tolerant, want.Tolerant)
	}
	return first(same("Before", got.Before, want.Before), same("After", got.After, want.After), same("Diff", got.Diff, want.Diff),
		same("Patch", got.Patch, want.Patch), same("FirstChangedLine", got.FirstChangedLine, want.FirstChangedLine),
		same("Path", got.Path, want.Path), same("Created", got.Created, want.Created), same("InPlace", got.InPlace, want.InPlace))
}

func editKeepsMode(ctx context.Context, w *Workspace) error {
	e, err := w.editor()
	if err != nil {
		return err
	}
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o640} {
		p := w.at(fmt.Sprintf("file-%o", mode))
		if err := w.Fixture.PutFile(p, []byte("old"), mode); err != nil {
			return err
		}
		if _, err := e.EditFile(ctx, p, edited("file", "old", "new")); err != nil {
			return err
		}
		info, err := w.Fixture.Lstat(p)
		if err != nil {
			return err
		}
		if err := same("the mode", info.Mode(), mode); err != nil {
			return err
		}
	}
	return nil
}

func editFollowsLink(ctx context.Context, w *Workspace) error {
	e, err := w.editor()
	if err != nil {
		return err
	}
	if err := first(w.put(map[string]string{"real/target": "old"}), w.Fixture.Symlink("real/target", w.at("link"))); err != nil {
		return err
	}
	report, err := e.EditFile(ctx, w.at("link"), edited("link", "old", "new"))
	if err != nil {
		return err
	}
	info, err := w.Fixture.Lstat(w.at("link"))
	if err != nil {
		return err
	}
	return first(same("the link's type", info.Mode().Type(), fs.ModeSymlink), holds(w.Fixture, w.at("real", "target"), []byte("new")),
		same("Path", report.Path, w.Set.Target.Root+"/real/target"))
}

func editKeepsHardLinks(ctx context.Context, w *Workspace) error {
	e, err := w.editor()
	if err != nil {
		return err
	}
	if err := first(w.put(map[string]string{"one": "the old"}), w.Fixture.Link(w.at("one"), w.at("two"))); err != nil {
		return err
	}
	report, err := e.EditFile(ctx, w.at("one"), edited("one", "old", "new!"))
	if err := first(err, holds(w.Fixture, w.at("one"), []byte("the new!")), holds(w.Fixture, w.at("two"), []byte("the new!"))); err != nil {
		return err
	}
	if report.InPlace == "" {
		return fmt.Errorf("the report does not say that the file was written in place")
	}
	return nil
}

func editMismatch(ctx context.Context, w *Workspace) error {
	e, err := w.editor()
	if err != nil {
		return err
	}
	const text = "one two\none three\n"
	for i, edits := range [][]ops.Replacement{
		nil,
		{{Old: "", New: "x"}},
		{{Old: "one", New: "1"}},
		{{Old: "one four", New: "1"}},
		{{Old: "two", New: "two"}},
		{{Old: "two", New: "2"}, {Old: "one two", New: "1 2"}},
	} {
		if err := w.put(map[string]string{"file": text}); err != nil {
			return err
		}
		req := ops.EditRequest{Name: "the file's name", Edits: edits}
		_, _, want := steps.Apply([]byte(text), req)
		_, got := e.EditFile(ctx, w.at("file"), req)
		var mismatch *ops.MismatchError
		if want == nil || !errors.As(got, &mismatch) || got.Error() != want.Error() {
			return fmt.Errorf("case %d: %q (%T), want %q", i, got, got, want) //nolint:errorlint // a report
		}
		names, err := w.Fixture.Names(w.at())
		if err := first(err, holds(w.Fixture, w.at("file"), []byte(text)), sameNames("the folder holds", names, []string{"file"})); err != nil {
			return err
		}
	}
	return nil
}

func editRefused(ctx context.Context, w *Workspace) error {
	e, err := w.editor()
	if err != nil {
		return err
	}
	if err := first(w.Fixture.PutFile(w.at("read-only"), []byte("old"), 0o444), w.put(map[string]string{"file": "old"}),
		w.Fixture.Mkdir(w.at("folder"), 0o755), w.Fixture.Mkfifo(w.at("fifo"))); err != nil {
		return err
	}
	for name, want := range map[string]error{
		"missing": fs.ErrNotExist, "no/file": fs.ErrNotExist, "folder": ops.ErrIsDir, "": ops.ErrIsDir, "fifo": ops.ErrNotRegular,
		"file/below": ops.ErrNotDir, "read-only": fs.ErrPermission,
	} {
		_, err := e.EditFile(ctx, w.at(name), edited(name, "old", "new"))
		if err := fileError(fmt.Sprintf("edit of %q", name), err, want); err != nil {
			return err
		}
	}
	names, err := w.Fixture.Names(w.at())
	return first(err, sameNames("the folder holds", names, []string{"read-only", "file", "folder", "fifo"}),
		holds(w.Fixture, w.at("read-only"), []byte("old")), holds(w.Fixture, w.at("file"), []byte("old")))
}

func editLimit(ctx context.Context, w *Workspace) error {
	e, err := w.editor()
	if err != nil {
		return err
	}
	if err := w.put(map[string]string{"file": "0123456789"}); err != nil {
		return err
	}
	req := edited("file", "0", "00")
	req.Limit = 9
	_, err = e.EditFile(ctx, w.at("file"), req)
	if err := first(fileError("a file of 10 bytes, of 9 at most", err, ops.ErrTooLarge), holds(w.Fixture, w.at("file"), []byte("0123456789"))); err != nil {
		return err
	}
	req.Limit = 10
	_, err = e.EditFile(ctx, w.at("file"), req)
	return first(done("edit of 10 bytes, of 10 at most", err), holds(w.Fixture, w.at("file"), []byte("00123456789")))
}

func editExpects(ctx context.Context, w *Workspace) error {
	e, err := w.editor()
	if err != nil {
		return err
	}
	old := []byte("0123456789")
	if err := w.put(map[string]string{"file": string(old)}); err != nil {
		return err
	}
	req := edited("file", "0", "00")
	req.Expect = steps.Hash([]byte("0123456780"))
	_, err = e.EditFile(ctx, w.at("file"), req)
	if err := first(fileError("another content is expected", err, ops.ErrChanged), holds(w.Fixture, w.at("file"), old)); err != nil {
		return err
	}
	req.Expect = steps.Hash(old)
	_, err = e.EditFile(ctx, w.at("file"), req)
	return first(done("the content is as expected", err), holds(w.Fixture, w.at("file"), []byte("00123456789")))
}

// editLosesNothing has each of several editors change its own words of one file.
func editLosesNothing(ctx context.Context, w *Workspace) error {
	e, err := w.editor()
	if err != nil {
		return err
	}
	const editors, edits = 4, 10
	var text, want strings.Builder
	for i := range editors * edits {
		fmt.Fprintf(&text, "<old %d>\n", i)
		fmt.Fprintf(&want, "<new %d>\n", i)
	}
	if err := first(w.put(map[string]string{"real/file": text.String()}), w.Fixture.Symlink("real", w.at("alias"))); err != nil {
		return err
	}
	results := make(chan error, editors)
	for n := range editors {
		go func() {
			p := w.at([]string{"real", "alias"}[n%2], "file")
			for i := n * edits; i < (n+1)*edits; i++ {
				err := ops.ErrChanged
				for errors.Is(err, ops.ErrChanged) && ctx.Err() == nil {
					_, err = e.EditFile(ctx, p, edited("file", fmt.Sprintf("<old %d>", i), fmt.Sprintf("<new %d>", i)))
				}
				if err != nil {
					results <- fmt.Errorf("edit %d: %w", i, err)
					return
				}
			}
			results <- nil
		}()
	}
	var errs []error
	for range editors {
		errs = append(errs, <-results)
	}
	return first(append(errs, holds(w.Fixture, w.at("real", "file"), []byte(want.String())))...)
}

func editConfined(ctx context.Context, w *Workspace) error {
	e, err := w.editor()
	if err != nil {
		return err
	}
	return w.confined(func(p string) error {
		_, err := e.EditFile(ctx, p, edited("file", "secret", "known"))
		return err
	})
}

func cancelledEdit(ctx context.Context, w *Workspace) error {
	e, err := w.editor()
	if err != nil {
		return err
	}
	if err := w.put(map[string]string{"file": "old"}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, err = e.EditFile(ctx, w.at("file"), edited("file", "old", "new"))
	return first(cancelled("edit", err), holds(w.Fixture, w.at("file"), []byte("old")))
}

package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
	"github.com/piremote/piremote/tools/textedit"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// Bounds of what a change is compared with.
const (
	maxCompared  = 8 << 20 // bytes of a file that is read again
	maxStaleDiff = 40      // lines of what has changed that are told
)

// file is a file as a call's session knows it.
func (w workspace) file(call tool.Call, abs string) fileOf {
	return fileOf{session: call.Scope.SessionID, path: abs}
}

// overwrite writes a file unless somebody else has changed it since the session
// saw it. It runs inside the file's queue: the calls of a batch that came before
// have had their effect (hazard MUTQ-03). Where the workspace can compare and swap,
// nothing comes between the look and the change; a file that is gone is written
// anew.
func (t writeTool) overwrite(ctx context.Context, f fileOf, name string, data []byte) (ops.WriteReport, error) {
	report, err := t.overwriteSeen(ctx, f, name, data)
	switch {
	case err == nil:
		t.seen.whole(f, data, report.Version)
	case ops.KindOf(err) == ops.KindOutcomeUnknown:
		t.seen.forget(f)
	}
	return report, err
}

func (t writeTool) overwriteSeen(ctx context.Context, f fileOf, name string, data []byte) (ops.WriteReport, error) {
	before, ok := t.seen.of(f)
	switch {
	case t.set.Read == nil, !ok && !t.strict:
		return t.writeTree(ctx, f.path, data)
	case !ok:
		return t.overwriteUnseen(ctx, f, name, data)
	}
	if replace := t.replacing(before); replace != nil {
		report, err := replace(ctx, f.path, data)
		if !errors.Is(err, ops.ErrChanged) {
			return report, err
		}
	}
	// It is another file, or nobody knows: look.
	now, version, err := steps.Read(ctx, t.set.Read, f.path, maxCompared)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ops.ErrTooLarge) && before.hash == "" && !before.version.Known():
		return t.writeTree(ctx, f.path, data)
	case errors.Is(err, ops.ErrTooLarge):
		return ops.WriteReport{}, stale("write", name, before, nil)
	case err != nil:
		return ops.WriteReport{}, err
	}
	look := sight{hash: steps.Hash(now), size: int64(len(now)), version: version}
	if !t.current(f, before, now, look.hash) {
		return ops.WriteReport{}, stale("write", name, before, now)
	}
	if replace := t.replacing(look); replace != nil {
		return replace(ctx, f.path, data)
	}
	return t.writeTree(ctx, f.path, data)
}

// overwriteUnseen writes a file that the session has not seen, where that is allowed
// only if there is none yet, or its content is known by another name.
func (t writeTool) overwriteUnseen(ctx context.Context, f fileOf, name string, data []byte) (ops.WriteReport, error) {
	now, version, err := steps.Read(ctx, t.set.Read, f.path, maxCompared)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if r, ok := t.set.Write.(ops.Replacer); ok {
			if err := t.set.Write.MkdirAll(ctx, path.Dir(f.path)); err != nil {
				return ops.WriteReport{}, err
			}
			return r.ReplaceFile(ctx, f.path, ops.Expect{}, data)
		}
		return t.writeTree(ctx, f.path, data)
	case errors.Is(err, ops.ErrTooLarge):
		return ops.WriteReport{}, unseen("write", name)
	case err != nil:
		return ops.WriteReport{}, err
	}
	look := sight{hash: steps.Hash(now), size: int64(len(now)), version: version}
	if !t.seen.known(f.session, look.hash) {
		return ops.WriteReport{}, unseen("write", name)
	}
	if replace := t.replacing(look); replace != nil {
		return replace(ctx, f.path, data)
	}
	return t.writeTree(ctx, f.path, data)
}

// unseen is the refusal to change what the session has not read.
func unseen(verb, name string) error {
	return &failure{err: ops.ErrChanged, text: fmt.Sprintf("Cannot %s %s: you have not read it. Read it first, then %s it.", verb, show(name), verb)}
}

// replacing is how the workspace replaces a file that is as it was seen, and no other,
// which is ops.ErrChanged; nil if it can't.
func (t writeTool) replacing(before sight) func(ctx context.Context, path string, data []byte) (ops.WriteReport, error) {
	if r, ok := t.set.Write.(ops.Replacer); ok && before.hash != "" {
		return func(ctx context.Context, path string, data []byte) (ops.WriteReport, error) {
			return r.ReplaceFile(ctx, path, ops.Expect{Exists: true, Size: before.size, Hash: before.hash}, data)
		}
	}
	if v, ok := t.set.Write.(ops.VersionWriter); ok && before.version.Known() {
		return func(ctx context.Context, path string, data []byte) (ops.WriteReport, error) {
			return v.WriteVersion(ctx, path, before.version, data)
		}
	}
	return nil
}

// current reports whether content is what the session has last seen of a file.
func (w workspace) current(f fileOf, before sight, content []byte, hash string) bool {
	if before.hash != "" || int64(len(content)) != before.size {
		return hash == before.hash || w.seen.known(f.session, hash)
	}
	lines := splitLines(string(content))
	return !slices.ContainsFunc(before.windows, func(w window) bool {
		end := w.first - 1 + w.count()
		return w.first < 1 || end > len(lines) || !w.is(lines[w.first-1:end])
	})
}

// revise edits a file. One that somebody else has changed since the session saw it
// is edited if the places of the edits are as they were shown, or were never shown;
// moved then says so.
func (t editTool) revise(ctx context.Context, f fileOf, req ops.EditRequest) (report ops.EditReport, moved bool, err error) {
	before, ok := t.seen.of(f)
	look := func(content []byte) (err error) {
		switch {
		case ok:
			moved, err = t.agrees(f, before, content, req)
		case t.strict && !t.seen.known(f.session, steps.Hash(content)):
			err = unseen("edit", req.Name)
		}
		return err
	}
	if e, remote := t.set.Edit.(ops.Editor); remote {
		report, err = t.editThere(ctx, e, f.path, req, before.hash, ok || t.strict, look)
	} else {
		report, err = steps.EditLooking(ctx, t.set.Edit, f.path, req, look)
	}
	switch {
	case err == nil:
		t.seen.edited(f, before, req, report, moved)
	case ops.KindOf(err) == ops.KindOutcomeUnknown:
		t.seen.forget(f)
	}
	return report, moved, err
}

// editThere edits a file at the target: one that holds what is expected, if the session
// knows, and after a look one that does not.
func (t editTool) editThere(ctx context.Context, e ops.Editor, path string, req ops.EditRequest, expect string, known bool, look func([]byte) error,
) (report ops.EditReport, err error) {
	req.Expect = expect
	if known && expect == "" {
		err = ops.ErrChanged // only a part was shown: look
	} else {
		report, err = e.EditFile(ctx, path, req)
	}
	const tries = 3 // of somebody who changes the file all the time
	for i := 0; known && i < tries && errors.Is(err, ops.ErrChanged); i++ {
		var now []byte
		now, err = t.set.Edit.ReadFile(ctx, path, maxCompared)
		switch {
		case errors.Is(err, ops.ErrTooLarge) && expect == "" && !t.strict:
			req.Expect, err = "", nil // too much to be compared: the exact text has to do
		case err == nil:
			req.Expect, err = steps.Hash(now), look(now)
		}
		if err == nil {
			report, err = e.EditFile(ctx, path, req)
		}
	}
	return report, err
}

// agrees reports whether content is another than the session has seen, in which case
// the places of the edits must be as they were shown.
func (t editTool) agrees(f fileOf, before sight, content []byte, req ops.EditRequest) (moved bool, err error) {
	if t.current(f, before, content, steps.Hash(content)) {
		return false, nil
	}
	if t.strict {
		return false, stale("edit", req.Name, before, content)
	}
	lines := splitLines(string(content))
	for i, e := range req.Edits {
		one := req
		one.Expect, one.Edits = "", []ops.Replacement{e}
		out, _, mismatch := steps.Apply(content, one)
		if mismatch != nil {
			break // all of them together say better what is wrong
		}
		if first, last := touched(content, out); !before.agrees(e.Old, lines, first, last) {
			return false, staleEdit(req.Name, i, len(req.Edits), lines, first, last)
		}
	}
	return true, nil //nolint:nilerr // the edit itself says what does not match
}

// edited notes what an edit has left of what the session knows. What somebody else
// did elsewhere in the file stays unseen: it is not written over later.
func (s *Memory) edited(f fileOf, before sight, req ops.EditRequest, report ops.EditReport, moved bool) {
	after := before.after(req)
	whole := len(after) == 1 && after[0].last && steps.Hash([]byte(after[0].text)) == report.After
	switch {
	case whole:
		s.whole(f, []byte(after[0].text), report.Version)
	case moved:
		s.put(sight{file: f, hash: before.hash, size: before.size, windows: after})
	default:
		s.put(sight{file: f, hash: report.After, version: report.Version, windows: after})
	}
}

// after is what was shown of a file, with edits made in it as far as that is sure.
func (s *sight) after(req ops.EditRequest) []window {
	req.Expect = ""
	var windows []window
	for _, w := range s.windows {
		if w.hash != "" {
			continue // its text is not known
		}
		out, _, err := steps.Apply([]byte(w.text), req)
		switch {
		case err == nil:
			w.text = string(out)
		case slices.ContainsFunc(req.Edits, func(e ops.Replacement) bool { return strings.Contains(w.text, e.Old) }):
			continue
		}
		if w.first != 1 {
			w.first = 0
		}
		windows = append(windows, w)
	}
	return windows
}

// stale is the refusal to overwrite what somebody else wrote.
func stale(verb, name string, before sight, now []byte) error {
	sizes := ""
	if now != nil && before.size > 0 {
		sizes = fmt.Sprintf(" (%s then, %s now)", textout.FormatSize(before.size), textout.FormatSize(int64(len(now))))
	}
	text := fmt.Sprintf("Cannot %s %s: it has changed since you last saw it%s. Read it again, then %s what is to stay.", verb, show(name), sizes, verb)
	if before.complete() && len(before.windows) == 1 && before.windows[0].hash == "" && now != nil {
		if out, err := textedit.Apply(name, []byte(before.windows[0].text), []textedit.Edit{{Old: before.windows[0].text, New: string(now)}}); err == nil {
			text += "\nWhat has changed:\n" + shorten(out.Diff)
		}
	}
	return &failure{text: text, err: ops.ErrChanged}
}

// staleEdit is the refusal to edit a place that is not as it was shown.
func staleEdit(name string, i, of int, lines []string, first, last int) error {
	which := "the text"
	if of > 1 {
		which = fmt.Sprintf("the text of edits[%d]", i)
	}
	var now strings.Builder
	from, to := max(first-nearby, 0), min(last+nearby, len(lines))
	for n, line := range lines[from:to] {
		fmt.Fprintf(&now, "%d %s\n", from+n+1, strings.TrimRight(line, "\r\n"))
	}
	return &failure{err: ops.ErrChanged, text: fmt.Sprintf(
		"Cannot edit %s: it has changed since you last saw it, also around %s. Read lines %d-%d again, then edit. They are now:\n%s",
		show(name), which, from+1, to, shorten(now.String()))}
}

// shorten keeps the first lines of a diff.
func shorten(diff string) string {
	diff = textout.Clean(strings.ToValidUTF8(diff, "\uFFFD"))
	lines := splitLines(diff)
	if len(lines) > maxStaleDiff {
		lines = append(lines[:maxStaleDiff], "...\n")
	}
	for i, l := range lines {
		lines[i] = textout.TruncateRunes(l, 500)
	}
	return strings.TrimRight(strings.Join(lines, ""), "\n")
}

package backendtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/steps"
)

func replaceChecks() []Check {
	return []Check{
		{Name: "ReplaceSwaps", Rule: "a file that is as expected is replaced as by WriteFile: mode and links stay; one that is expected not to exist is created", Run: replaceSwaps},
		{Name: "ReplaceChanged", Rule: "a file that is not as expected, or missing, or there although it should not be, is ErrChanged and stays as it is (MUTQ-05)", Run: replaceChanged},
		{Name: "ReplaceReport", Rule: "the report has the canonical path and says whether the file was created", Run: replaceReport},
		{Name: "ReplaceRefused", Rule: "what WriteFile refuses whatever the content is refused with the same error", Run: replaceRefused},
		{Name: "ReplaceOnce", Rule: "of several that expect the same file at the same time one replaces it (MUTQ-04)", Run: replaceOnce},
		{Name: "ReplaceConfined", Rule: "replacing what lies outside is ErrOutside (CONF-02)", Run: replaceConfined},
		{Name: "CancelledReplace", Rule: "a replacement cancelled before it began is context.Canceled and has no effect", Run: cancelledReplace},
	}
}

func (w *Workspace) replacer() (ops.Replacer, error) {
	if r, ok := w.Set.Write.(ops.Replacer); ok {
		return r, nil
	}
	return nil, fmt.Errorf("compare and swap: %w", ErrAbsent)
}

// content is what a caller expects of a file with this text.
func content(text string) ops.Expect {
	return ops.Expect{Exists: true, Size: int64(len(text)), Hash: steps.Hash([]byte(text))}
}

func replaceSwaps(ctx context.Context, w *Workspace) error {
	r, err := w.replacer()
	if err != nil {
		return err
	}
	if err := first(w.Fixture.PutFile(w.at("real"), []byte("old"), 0o640), w.Fixture.Symlink("real", w.at("link")), w.put(map[string]string{"empty": ""})); err != nil {
		return err
	}
	for _, c := range []struct {
		name, text string
		expect     ops.Expect
	}{
		{"link", "new", content("old")},
		{"real", "a longer one\n", content("new")},
		{"real", "", content("a longer one\n")},
		{"empty", "full", content("")},
		{"fresh", "made", ops.Expect{}},
	} {
		_, err := r.ReplaceFile(ctx, w.at(c.name), c.expect, []byte(c.text))
		if err := first(done(c.name, err), holds(w.Fixture, w.at(c.name), []byte(c.text))); err != nil {
			return err
		}
	}
	file, ferr := w.Fixture.Lstat(w.at("real"))
	link, lerr := w.Fixture.Lstat(w.at("link"))
	if err := first(ferr, lerr); err != nil {
		return err
	}
	names, err := w.Fixture.Names(w.at())
	return first(err, same("the mode", file.Mode(), 0o640), same("the link's type", link.Mode().Type(), fs.ModeSymlink),
		sameNames("the folder holds", names, []string{"real", "link", "empty", "fresh"}))
}

func replaceChanged(ctx context.Context, w *Workspace) error {
	r, err := w.replacer()
	if err != nil {
		return err
	}
	if err := w.put(map[string]string{"file": "text"}); err != nil {
		return err
	}
	shorter := content("text")
	shorter.Size--
	for what, c := range map[string]struct {
		name   string
		expect ops.Expect
	}{
		"another text of the same size": {"file", content("next")},
		"another size":                  {"file", content("text and more")},
		"the right hash, another size":  {"file", shorter},
		"empty":                         {"file", content("")},
		"no file":                       {"file", ops.Expect{}},
		"a missing file":                {"missing", content("text")},
		"a missing folder":              {"no/file", content("text")},
	} {
		_, err := r.ReplaceFile(ctx, w.at(c.name), c.expect, []byte("new"))
		names, nerr := w.Fixture.Names(w.at())
		if err := first(fileError(what, err, ops.ErrChanged), holds(w.Fixture, w.at("file"), []byte("text")), nerr, sameNames("the folder holds", names, []string{"file"})); err != nil {
			return err
		}
	}
	return nil
}

func replaceReport(ctx context.Context, w *Workspace) error {
	r, err := w.replacer()
	if err != nil {
		return err
	}
	if err := first(w.put(map[string]string{"real/two": "old"}), w.Fixture.Link(w.at("real", "two"), w.at("real", "names")), w.Fixture.Symlink("real", w.at("alias"))); err != nil {
		return err
	}
	made, err := r.ReplaceFile(ctx, w.at("alias", "new"), ops.Expect{}, []byte("1"))
	if err != nil {
		return err
	}
	again, err := r.ReplaceFile(ctx, w.at("alias", "two"), content("old"), []byte("new!"))
	root := w.Set.Target.Root
	return first(err, same("Created of a new file", made.Created, true), same("Created of an existing file", again.Created, false),
		same("Path", made.Path, root+"/real/new"), same("Path of the second", again.Path, root+"/real/two"),
		same("InPlace is told", again.InPlace != "", true), holds(w.Fixture, w.at("real", "names"), []byte("new!")))
}

func replaceRefused(ctx context.Context, w *Workspace) error {
	r, err := w.replacer()
	if err != nil {
		return err
	}
	if err := first(w.put(map[string]string{"file": "old"}), w.Fixture.Mkdir(w.at("folder"), 0o755), w.Fixture.Mkfifo(w.at("fifo")),
		w.Fixture.PutFile(w.at("read-only"), []byte("old"), 0o444)); err != nil {
		return err
	}
	for _, c := range []struct {
		name   string
		expect ops.Expect
		want   error
	}{
		{"folder", content("old"), ops.ErrIsDir},
		{"folder", ops.Expect{}, ops.ErrIsDir},
		{"fifo", content(""), ops.ErrNotRegular},
		{"file/below", ops.Expect{}, ops.ErrNotDir},
		{"no/file", ops.Expect{}, fs.ErrNotExist},
		{"read-only", content("old"), fs.ErrPermission},
	} {
		_, err := r.ReplaceFile(ctx, w.at(c.name), c.expect, []byte("new"))
		if err := fileError(fmt.Sprintf("%q, expected %+v", c.name, c.expect), err, c.want); err != nil {
			return err
		}
	}
	return first(holds(w.Fixture, w.at("read-only"), []byte("old")), absent(w.Fixture, w.at("no")))
}

// replaceOnce counts with several at a time, each of which looks, adds one, and
// looks again if somebody was faster.
func replaceOnce(ctx context.Context, w *Workspace) error {
	r, err := w.replacer()
	if err != nil {
		return err
	}
	if err := first(w.put(map[string]string{"real/counter": "0"}), w.Fixture.Symlink("real", w.at("alias"))); err != nil {
		return err
	}
	const counters, each = 4, 8
	results := make(chan error, counters)
	for n := range counters {
		go func() {
			p := w.at([]string{"real", "alias"}[n%2], "counter")
			for counted := 0; counted < each; {
				err := increment(ctx, w, r, p)
				switch {
				case err == nil:
					counted++
				case !errors.Is(err, ops.ErrChanged) || ctx.Err() != nil:
					results <- err
					return
				}
			}
			results <- nil
		}()
	}
	var errs []error
	for range counters {
		errs = append(errs, <-results)
	}
	return first(append(errs, holds(w.Fixture, w.at("real", "counter"), []byte(strconv.Itoa(counters*each))))...)
}

func increment(ctx context.Context, w *Workspace, r ops.Replacer, p string) error {
	data, err := w.Set.Edit.ReadFile(ctx, p, 0)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(data))
	if err != nil {
		return err
	}
	_, err = r.ReplaceFile(ctx, p, content(string(data)), []byte(strconv.Itoa(n+1)))
	return err
}

func replaceConfined(ctx context.Context, w *Workspace) error {
	r, err := w.replacer()
	if err != nil {
		return err
	}
	return w.confined(func(p string) error {
		_, known := r.ReplaceFile(ctx, p, content("secret"), []byte("changed"))
		_, fresh := r.ReplaceFile(ctx, p, ops.Expect{}, []byte("changed"))
		return first(fileError("expected not to exist", fresh, ops.ErrOutside), known)
	})
}

func cancelledReplace(ctx context.Context, w *Workspace) error {
	r, err := w.replacer()
	if err != nil {
		return err
	}
	if err := w.put(map[string]string{"file": "old"}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, swap := r.ReplaceFile(ctx, w.at("file"), content("old"), []byte("new"))
	_, create := r.ReplaceFile(ctx, w.at("new"), ops.Expect{}, []byte("new"))
	return first(cancelled("replace", swap), cancelled("create", create), holds(w.Fixture, w.at("file"), []byte("old")), absent(w.Fixture, w.at("new")))
}

package backendtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

func treeChecks() []Check {
	return []Check{
		{Name: "TreeMakesFolders", Rule: "the folders above a file are made, also behind a link, and the file has the whole content", Run: treeMakesFolders},
		{Name: "TreeReplaces", Rule: "where the folders exist a file is replaced as by WriteFile: mode and links stay (WRIT-03)", Run: treeReplaces},
		{Name: "TreeReport", Rule: "the report has the canonical path and says whether the file was created", Run: treeReport},
		{Name: "TreeRefused", Rule: "a file in the way, a folder and a file without write permission fail as with MkdirAll and WriteFile", Run: treeRefused},
		{Name: "TreeError", Rule: "a failure behind made folders is a *TreeError, one before is none", Run: treeError},
		{Name: "TreeConfined", Rule: "nothing is written or made outside (CONF-02, CONF-03)", Run: treeConfined},
		{Name: "CancelledTree", Rule: "a write cancelled before it began is context.Canceled and makes nothing", Run: cancelledTree},
	}
}

func (w *Workspace) treeWriter() (ops.TreeWriter, error) {
	if t, ok := w.Set.Write.(ops.TreeWriter); ok {
		return t, nil
	}
	return nil, fmt.Errorf("writing with folders: %w", ErrAbsent)
}

func treeMakesFolders(ctx context.Context, w *Workspace) error {
	t, err := w.treeWriter()
	if err != nil {
		return err
	}
	if err := first(w.Fixture.Mkdir(w.at("real"), 0o755), w.Fixture.Symlink("real", w.at("alias")), w.Fixture.Symlink("real/later", w.at("dangling"))); err != nil {
		return err
	}
	for given, made := range map[string]string{
		"file": "file", "a/file": "a/file", "a/b/c/d/file": "a/b/c/d/file", "alias/x/y/file": "real/x/y/file", "dangling/z/file": "real/later/z/file",
		"q'$(x)/ü\n/file": "q'$(x)/ü\n/file",
	} {
		data := anyBytes(5000)
		if _, err := t.WriteTree(ctx, w.at(given), data); err != nil {
			return done(given, err)
		}
		if err := holds(w.Fixture, w.at(made), data); err != nil {
			return err
		}
	}
	return nil
}

func treeReplaces(ctx context.Context, w *Workspace) error {
	t, err := w.treeWriter()
	if err != nil {
		return err
	}
	if err := first(w.Fixture.PutFile(w.at("sub", "file"), []byte("a long old content"), 0o640), w.Fixture.Symlink("sub/file", w.at("link")),
		w.put(map[string]string{"one": "old"}), w.Fixture.Link(w.at("one"), w.at("two"))); err != nil {
		return err
	}
	if _, err := t.WriteTree(ctx, w.at("link"), []byte("new")); err != nil {
		return err
	}
	report, err := t.WriteTree(ctx, w.at("one"), []byte("new!"))
	if err != nil {
		return err
	}
	file, ferr := w.Fixture.Lstat(w.at("sub", "file"))
	link, lerr := w.Fixture.Lstat(w.at("link"))
	if err := first(ferr, lerr); err != nil {
		return err
	}
	return first(holds(w.Fixture, w.at("sub", "file"), []byte("new")), same("the mode", file.Mode(), 0o640), same("the link's type", link.Mode().Type(), fs.ModeSymlink),
		holds(w.Fixture, w.at("two"), []byte("new!")), same("InPlace is told", report.InPlace != "", true))
}

func treeReport(ctx context.Context, w *Workspace) error {
	t, err := w.treeWriter()
	if err != nil {
		return err
	}
	if err := first(w.Fixture.Mkdir(w.at("real"), 0o755), w.Fixture.Symlink("real", w.at("alias"))); err != nil {
		return err
	}
	made, err := t.WriteTree(ctx, w.at("alias", "sub", "file"), []byte("1"))
	if err != nil {
		return err
	}
	again, err := t.WriteTree(ctx, w.at("alias", "sub", "file"), []byte("2"))
	want := w.Set.Target.Root + "/real/sub/file"
	return first(err, same("Created of a new file", made.Created, true), same("Created of an existing file", again.Created, false),
		same("Path", made.Path, want), same("Path of the second write", again.Path, want))
}

func treeRefused(ctx context.Context, w *Workspace) error {
	t, err := w.treeWriter()
	if err != nil {
		return err
	}
	if err := first(w.put(map[string]string{"file": "old"}), w.Fixture.Mkdir(w.at("folder"), 0o755),
		w.Fixture.PutFile(w.at("read-only"), []byte("old"), 0o444)); err != nil {
		return err
	}
	for name, want := range map[string]error{
		"file/below": ops.ErrNotDir, "file/far/below": ops.ErrNotDir, "folder": ops.ErrIsDir, "": ops.ErrIsDir, "read-only": fs.ErrPermission,
	} {
		_, err := t.WriteTree(ctx, w.at(name), []byte("new"))
		var tree *ops.TreeError
		if err := first(fileError(fmt.Sprintf("write to %q", name), err, want), same("it is a *TreeError", errors.As(err, &tree), false)); err != nil {
			return err
		}
	}
	names, err := w.Fixture.Names(w.at())
	return first(err, sameNames("the folder holds", names, []string{"file", "folder", "read-only"}),
		holds(w.Fixture, w.at("file"), []byte("old")), holds(w.Fixture, w.at("read-only"), []byte("old")))
}

// treeError uses a name that no file system takes.
func treeError(ctx context.Context, w *Workspace) error {
	t, err := w.treeWriter()
	if err != nil {
		return err
	}
	long := strings.Repeat("long", 200)
	_, before := t.WriteTree(ctx, w.at(long), []byte("x"))
	_, behind := t.WriteTree(ctx, w.at("new", "er", long), []byte("x"))
	var tree *ops.TreeError
	var p *fs.PathError
	switch {
	case before == nil || errors.As(before, &tree):
		return fmt.Errorf("no folder was made: %v (%T)", before, before) //nolint:errorlint // a report
	case !errors.As(behind, &tree) || !errors.As(behind, &p) || behind.Error() != p.Error():
		return fmt.Errorf("folders were made: %v (%T), want a *TreeError around a *fs.PathError", behind, behind) //nolint:errorlint // a report
	}
	names, err := w.Fixture.Names(w.at("new", "er"))
	return first(err, sameNames("the new folder holds", names, nil))
}

func treeConfined(ctx context.Context, w *Workspace) error {
	t, err := w.treeWriter()
	if err != nil {
		return err
	}
	err = w.confined(func(p string) error {
		_, err := t.WriteTree(ctx, p, []byte("changed"))
		return err
	})
	if err != nil {
		return err
	}
	_, err = t.WriteTree(ctx, w.at("folder", "made", "file"), []byte("x"))
	return first(fileError("a new folder outside", err, ops.ErrOutside), w.untouched())
}

func cancelledTree(ctx context.Context, w *Workspace) error {
	t, err := w.treeWriter()
	if err != nil {
		return err
	}
	if err := w.put(map[string]string{"file": "old"}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, replace := t.WriteTree(ctx, w.at("file"), []byte("new"))
	_, create := t.WriteTree(ctx, w.at("new", "file"), []byte("new"))
	return first(cancelled("write", replace), cancelled("create", create), holds(w.Fixture, w.at("file"), []byte("old")), absent(w.Fixture, w.at("new")))
}

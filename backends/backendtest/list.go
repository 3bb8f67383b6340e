package backendtest

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/piremote/piremote/tools/ops"
)

func listChecks() []Check {
	return []Check{
		{Name: "ReadDirTypes", Rule: "types are those of the entries themselves, links included (LS-01, LS-03)", Run: readDirTypes},
		{Name: "ReadDirAll", Rule: "ReadDir yields every entry once, but not . and .. (LS-04)", Run: readDirAll},
		{Name: "ReadDirStops", Rule: "ReadDir ends without an error when yield returns false (LS-04)", Run: readDirStops},
		{Name: "ReadDirErrors", Rule: "a missing folder is fs.ErrNotExist, a file ErrNotDir", Run: readDirErrors},
		{Name: "StatFollows", Rule: "Stat follows links", Run: statFollows},
		{Name: "StatFacts", Rule: "Stat gives size, type and permissions; what is missing is fs.ErrNotExist", Run: statFacts},
	}
}

func readDirTypes(ctx context.Context, w *Workspace) error {
	f := w.Fixture
	if err := first(w.put(map[string]string{"file": "x", ".hidden": ""}), f.Mkdir(w.at("folder"), 0o755), f.Symlink("folder", w.at("to-folder")),
		f.Symlink("file", w.at("to-file")), f.Symlink("nowhere", w.at("dangling")), f.Mkfifo(w.at("fifo"))); err != nil {
		return err
	}
	want := map[string]fs.FileMode{
		"file": 0, ".hidden": 0, "folder": fs.ModeDir, "to-folder": fs.ModeSymlink, "to-file": fs.ModeSymlink, "dangling": fs.ModeSymlink, "fifo": fs.ModeNamedPipe,
	}
	var wrong error
	err := w.Set.Ls.ReadDir(ctx, w.at(), func(e fs.DirEntry) bool {
		if typ, ok := want[e.Name()]; !ok || e.Type() != typ || e.IsDir() != typ.IsDir() {
			wrong = fmt.Errorf("%q is listed as %v, want %v", e.Name(), e.Type(), typ)
		}
		delete(want, e.Name())
		return true
	})
	if err := first(err, wrong); err != nil {
		return err
	}
	if len(want) > 0 {
		return fmt.Errorf("not listed: %v", want)
	}
	return nil
}

func readDirAll(ctx context.Context, w *Workspace) error {
	var want, got []string
	for i := range 700 {
		name := fmt.Sprintf("%d-entry-with-a-name-of-some-length", i)
		want = append(want, name)
		if err := w.Fixture.PutFile(w.at("many", name), nil, 0o644); err != nil {
			return err
		}
	}
	err := w.Set.Ls.ReadDir(ctx, w.at("many"), func(e fs.DirEntry) bool {
		got = append(got, e.Name())
		return true
	})
	if err := first(err, same("the number of entries", len(got), len(want))); err != nil {
		return err
	}
	return sameNames("listed", got, want)
}

func readDirStops(ctx context.Context, w *Workspace) error {
	if err := w.put(map[string]string{"a": "", "b": "", "c": "", "d": ""}); err != nil {
		return err
	}
	calls := 0
	err := w.Set.Ls.ReadDir(ctx, w.at(), func(fs.DirEntry) bool {
		calls++
		return calls < 2
	})
	return first(err, same("the number of calls", calls, 2))
}

func readDirErrors(ctx context.Context, w *Workspace) error {
	if err := w.put(map[string]string{"file": ""}); err != nil {
		return err
	}
	all := func(fs.DirEntry) bool { return true }
	return first(fileError("a missing folder", w.Set.Ls.ReadDir(ctx, w.at("missing"), all), fs.ErrNotExist),
		fileError("a file", w.Set.Ls.ReadDir(ctx, w.at("file"), all), ops.ErrNotDir))
}

func statFollows(ctx context.Context, w *Workspace) error {
	f := w.Fixture
	if err := first(w.put(map[string]string{"file": "a content of 23 bytes.."}), f.Mkdir(w.at("folder"), 0o755),
		f.Symlink("file", w.at("to-file")), f.Symlink("folder", w.at("to-folder")), f.Symlink("nowhere", w.at("dangling"))); err != nil {
		return err
	}
	file, err := w.Set.Ls.Stat(ctx, w.at("to-file"))
	if err != nil {
		return err
	}
	folder, err := w.Set.Ls.Stat(ctx, w.at("to-folder"))
	if err != nil {
		return err
	}
	_, err = w.Set.Ls.Stat(ctx, w.at("dangling"))
	return first(same("the link to a file is one", file.Mode().IsRegular(), true), same("the link to a folder is one", folder.IsDir(), true),
		fileError("a dangling link", err, fs.ErrNotExist))
}

func statFacts(ctx context.Context, w *Workspace) error {
	if err := first(w.Fixture.PutFile(w.at("file"), anyBytes(12345), 0o640), w.Fixture.Mkdir(w.at("folder"), 0o750)); err != nil {
		return err
	}
	file, err := w.Set.Ls.Stat(ctx, w.at("file"))
	if err != nil {
		return err
	}
	folder, err := w.Set.Ls.Stat(ctx, w.at("folder"))
	if err != nil {
		return err
	}
	_, err = w.Set.Ls.Stat(ctx, w.at("missing"))
	return first(same("the name", file.Name(), "file"), same("the size", file.Size(), 12345), same("the mode of a file", file.Mode(), 0o640),
		same("the mode of a folder", folder.Mode(), fs.ModeDir|0o750), fileError("a missing file", err, fs.ErrNotExist))
}

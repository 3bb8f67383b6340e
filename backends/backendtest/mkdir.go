package backendtest

import (
	"context"
	"fmt"
)

func mkdirChecks() []Check {
	return []Check{
		{Name: "MkdirNested", Rule: "MkdirAll makes the folder and its parents", Run: mkdirNested},
		{Name: "MkdirExisting", Rule: "an existing folder, also behind a link, is no error", Run: mkdirExisting},
		{Name: "MkdirFileInTheWay", Rule: "a file in the way is an error and stays", Run: mkdirFileInTheWay},
	}
}

func mkdirNested(ctx context.Context, w *Workspace) error {
	if err := w.Set.Write.MkdirAll(ctx, w.at("a", "b", "c")); err != nil {
		return err
	}
	info, err := w.Fixture.Lstat(w.at("a", "b", "c"))
	if err != nil {
		return err
	}
	return same("it is a folder", info.IsDir(), true)
}

func mkdirExisting(ctx context.Context, w *Workspace) error {
	if err := first(w.put(map[string]string{"folder/file": "x"}), w.Fixture.Symlink("folder", w.at("link"))); err != nil {
		return err
	}
	return first(w.Set.Write.MkdirAll(ctx, w.at("folder")), w.Set.Write.MkdirAll(ctx, w.at("link")), w.Set.Write.MkdirAll(ctx, w.at()),
		holds(w.Fixture, w.at("folder", "file"), []byte("x")))
}

func mkdirFileInTheWay(ctx context.Context, w *Workspace) error {
	if err := w.put(map[string]string{"file": "x"}); err != nil {
		return err
	}
	for _, p := range []string{w.at("file"), w.at("file", "below")} {
		if w.Set.Write.MkdirAll(ctx, p) == nil {
			return fmt.Errorf("no error for %q", p)
		}
	}
	return holds(w.Fixture, w.at("file"), []byte("x"))
}

package backendtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

func cancelChecks() []Check {
	return []Check{
		{Name: "CancelledRead", Rule: "a cancelled read, stat or listing is context.Canceled", Run: cancelledRead},
		{Name: "CancelledWrite", Rule: "a write cancelled before it began is context.Canceled and has no effect", Run: cancelledWrite},
		{Name: "CancelledExec", Rule: "a command cancelled before it began is context.Canceled and does not run", Exec: true, Run: cancelledExec},
	}
}

func cancelled(what string, err error) error {
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %v, want context.Canceled", what, err) //nolint:errorlint // a report
	}
	return nil
}

func cancelledRead(ctx context.Context, w *Workspace) error {
	if err := w.put(map[string]string{"file": "x"}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, read := w.Set.Read.ReadFile(ctx, w.at("file"), 0)
	_, stat := w.Set.Ls.Stat(ctx, w.at("file"))
	list := w.Set.Ls.ReadDir(ctx, w.at(), func(fs.DirEntry) bool { return true })
	return first(cancelled("read", read), cancelled("stat", stat), cancelled("list", list), cancelled("access", w.Set.Read.Access(ctx, w.at("file"))))
}

func cancelledWrite(ctx context.Context, w *Workspace) error {
	if err := w.put(map[string]string{"file": "old"}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, replace := w.Set.Write.WriteFile(ctx, w.at("file"), []byte("new"))
	_, create := w.Set.Write.WriteFile(ctx, w.at("new"), []byte("new"))
	mkdir := w.Set.Write.MkdirAll(ctx, w.at("folder"))
	return first(cancelled("write", replace), cancelled("create", create), cancelled("mkdir", mkdir),
		holds(w.Fixture, w.at("file"), []byte("old")), absent(w.Fixture, w.at("new")), absent(w.Fixture, w.at("folder")))
}

func cancelledExec(ctx context.Context, w *Workspace) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, err := w.exec(ctx, "touch ran")
	return first(cancelled("exec", err), absent(w.Fixture, w.at("ran")))
}

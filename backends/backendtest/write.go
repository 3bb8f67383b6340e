package backendtest

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/piremote/piremote/tools/ops"
)

func writeChecks() []Check {
	return []Check{
		{Name: "WriteCreates", Rule: "WriteFile makes data the whole content of a new file", Run: writeCreates},
		{Name: "WriteReplaces", Rule: "WriteFile makes data the whole content of an existing file, nothing of the old stays", Run: writeReplaces},
		{Name: "WriteEmpty", Rule: "no data makes an empty file", Run: writeEmpty},
		{Name: "WriteKeepsMode", Rule: "the mode of an existing file is kept (SFTP-09)", Run: writeKeepsMode},
		{Name: "WriteFollowsLink", Rule: "the target of a symbolic link is written and the link stays (WRIT-03)", Run: writeFollowsLink},
		{Name: "WriteKeepsHardLinks", Rule: "a file with several names is written in place, and both names keep it; the report says so (WRIT-03)", Run: writeKeepsHardLinks},
		{Name: "WriteLeavesNothing", Rule: "no temporary file stays, also after an error (WRIT-06)", Run: writeLeavesNothing},
		{Name: "WriteAtomic", Rule: "a reader sees the old content or the new (WRIT-02)", Run: writeAtomic},
		{Name: "WriteReadOnlyFile", Rule: "a file without write permission is fs.ErrPermission and keeps its bytes", Run: writeReadOnlyFile},
		{Name: "WriteFolder", Rule: "writing a folder is ErrIsDir", Run: writeFolder},
		{Name: "WriteMissingParent", Rule: "a missing parent is fs.ErrNotExist and is not made", Run: writeMissingParent},
		{Name: "WriteReport", Rule: "the report has the canonical path and says whether the file was created", Run: writeReport},
	}
}

func write(ctx context.Context, w *Workspace, path string, data []byte) error {
	_, err := w.Set.Write.WriteFile(ctx, path, data)
	return done(fmt.Sprintf("write %q", path), err)
}

func writeCreates(ctx context.Context, w *Workspace) error {
	for _, n := range []int{1, 5000, 1 << 20} {
		p, data := w.at(fmt.Sprint("new-", n)), anyBytes(n)
		if err := first(write(ctx, w, p, data), holds(w.Fixture, p, data)); err != nil {
			return err
		}
	}
	return nil
}

func writeReplaces(ctx context.Context, w *Workspace) error {
	if err := w.put(map[string]string{"file": "a long old content\n"}); err != nil {
		return err
	}
	for _, text := range []string{"short", "longer than the one before\n", "x\r\ny"} {
		if err := first(write(ctx, w, w.at("file"), []byte(text)), holds(w.Fixture, w.at("file"), []byte(text))); err != nil {
			return err
		}
	}
	return nil
}

func writeEmpty(ctx context.Context, w *Workspace) error {
	return first(write(ctx, w, w.at("empty"), nil), holds(w.Fixture, w.at("empty"), nil))
}

func writeKeepsMode(ctx context.Context, w *Workspace) error {
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o640} {
		p := w.at(fmt.Sprintf("file-%o", mode))
		if err := first(w.Fixture.PutFile(p, []byte("old"), mode), write(ctx, w, p, []byte("new"))); err != nil {
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

func writeFollowsLink(ctx context.Context, w *Workspace) error {
	if err := first(w.put(map[string]string{"target": "old"}), w.Fixture.Symlink("target", w.at("link")), write(ctx, w, w.at("link"), []byte("new"))); err != nil {
		return err
	}
	info, err := w.Fixture.Lstat(w.at("link"))
	if err != nil {
		return err
	}
	return first(same("the link's type", info.Mode().Type(), fs.ModeSymlink), holds(w.Fixture, w.at("target"), []byte("new")))
}

func writeKeepsHardLinks(ctx context.Context, w *Workspace) error {
	if err := first(w.put(map[string]string{"one": "old"}), w.Fixture.Link(w.at("one"), w.at("two"))); err != nil {
		return err
	}
	report, err := w.Set.Write.WriteFile(ctx, w.at("one"), []byte("new!"))
	if err := first(err, holds(w.Fixture, w.at("one"), []byte("new!")), w.weaker("several hard links"), holds(w.Fixture, w.at("two"), []byte("new!"))); err != nil {
		return err
	}
	if report.InPlace == "" {
		return fmt.Errorf("the report does not say that the file was written in place")
	}
	return nil
}

func writeLeavesNothing(ctx context.Context, w *Workspace) error {
	if err := first(w.Fixture.Mkdir(w.at("folder"), 0o755), write(ctx, w, w.at("file"), []byte("1")), write(ctx, w, w.at("file"), []byte("2"))); err != nil {
		return err
	}
	if write(ctx, w, w.at("folder"), []byte("3")) == nil {
		return fmt.Errorf("a folder was written")
	}
	names, err := w.Fixture.Names(w.at())
	return first(err, sameNames("the folder holds", names, []string{"file", "folder"}))
}

func writeReadOnlyFile(ctx context.Context, w *Workspace) error {
	if err := w.Fixture.PutFile(w.at("file"), []byte("old"), 0o444); err != nil {
		return err
	}
	_, err := w.Set.Write.WriteFile(ctx, w.at("file"), []byte("new"))
	return first(fileError("a file of mode 0444", err, fs.ErrPermission), holds(w.Fixture, w.at("file"), []byte("old")))
}

func writeFolder(ctx context.Context, w *Workspace) error {
	if err := w.Fixture.Mkdir(w.at("folder"), 0o755); err != nil {
		return err
	}
	_, err := w.Set.Write.WriteFile(ctx, w.at("folder"), []byte("x"))
	return fileError("a folder", err, ops.ErrIsDir)
}

func writeMissingParent(ctx context.Context, w *Workspace) error {
	_, err := w.Set.Write.WriteFile(ctx, w.at("no", "file"), []byte("x"))
	return first(fileError("a missing parent", err, fs.ErrNotExist), absent(w.Fixture, w.at("no")))
}

func writeReport(ctx context.Context, w *Workspace) error {
	if err := first(w.Fixture.Mkdir(w.at("real"), 0o755), w.Fixture.Symlink("real", w.at("alias"))); err != nil {
		return err
	}
	made, err := w.Set.Write.WriteFile(ctx, w.at("alias", "file"), []byte("1"))
	if err != nil {
		return err
	}
	again, err := w.Set.Write.WriteFile(ctx, w.at("alias", "file"), []byte("2"))
	root := w.Set.Target.Root
	return first(err, same("Created of a new file", made.Created, true), same("Created of an existing file", again.Created, false),
		same("Path", made.Path, root+"/real/file"), same("Path of the second write", again.Path, root+"/real/file"))
}

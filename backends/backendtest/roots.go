package backendtest

import (
	"context"
	"fmt"
	"io/fs"
	"path"

	"github.com/piremote/piremote/tools/ops"
)

// ExtraRoots are the further roots with which the workspace of [CheckRoots] is opened,
// beside a folder: one in which all may be done, and one that is only read.
func ExtraRoots(dir string) []ops.Root {
	return []ops.Root{{Path: dir + "-extra"}, {Path: dir + "-frozen", ReadOnly: true}}
}

// PutRoots makes what the workspace of [CheckRoots] needs, beside its folder, before it
// is opened.
func PutRoots(f Fixture, dir string) error {
	var errs []error
	for _, r := range ExtraRoots(dir) {
		errs = append(errs, f.PutFile(r.Path+"/file", []byte("text"), 0o644))
	}
	errs = append(errs, f.PutFile(dir+"-extra-evil/secret", []byte("secret"), 0o644))
	return first(errs...)
}

// CheckRoots demands of a workspace with [ExtraRoots] that the same decision is made
// about each root: what is in one can be read, also through a link from another, is
// changed only where that is allowed, and what lies beside them is refused.
func CheckRoots(ctx context.Context, w *Workspace) error {
	dir := w.Set.Target.Dir
	extra, frozen := dir+"-extra", dir+"-frozen"
	if err := first(w.Fixture.Symlink(extra, w.at("to-extra")), w.Fixture.Symlink("../"+path.Base(frozen), w.at("to-frozen")),
		w.Fixture.Symlink(dir, frozen+"/back"), w.Fixture.PutFile(w.at("own"), []byte("text"), 0o644)); err != nil {
		return err
	}
	if got := w.Set.Target.Roots; len(got) != 2 || got[0] != (ops.Root{Path: extra}) || got[1] != (ops.Root{Path: frozen, ReadOnly: true}) {
		return fmt.Errorf("the roots are %v", got)
	}
	for _, p := range []string{extra + "/file", frozen + "/file", w.at("to-extra", "file"), w.at("to-frozen", "file"), frozen + "/back/own"} {
		data, err := w.Set.Read.ReadFile(ctx, p, 0)
		_, serr := w.Set.Ls.Stat(ctx, p)
		if err := first(done("read "+p, err), sameBytes(p, data, []byte("text")), done("stat "+p, serr)); err != nil {
			return err
		}
	}
	if err := done("list", w.Set.Ls.ReadDir(ctx, frozen, func(fs.DirEntry) bool { return true })); err != nil {
		return err
	}
	for _, p := range []string{extra + "/file", extra + "/new", w.at("to-extra", "file"), frozen + "/back/own"} {
		if err := write(ctx, w, p, []byte("text")); err != nil {
			return err
		}
	}
	for _, p := range []string{frozen + "/file", frozen + "/new", w.at("to-frozen", "file")} {
		if err := frozenAt(ctx, w, p); err != nil {
			return err
		}
	}
	evil := extra + "-evil"
	_, err := w.Set.Read.ReadFile(ctx, evil+"/secret", 0)
	return first(
		done("mkdir", w.Set.Write.MkdirAll(ctx, extra+"/made/more")),
		fileError("mkdir", w.Set.Write.MkdirAll(ctx, frozen+"/made"), ops.ErrReadOnly),
		fileError("read beside a root", err, ops.ErrOutside),
		fileError("read between the roots", w.Set.Read.Access(ctx, evil), ops.ErrOutside),
		holds(w.Fixture, frozen+"/file", []byte("text")), absent(w.Fixture, frozen+"/new"), absent(w.Fixture, frozen+"/made"),
	)
}

// frozenAt demands that a file which is only read is changed by no ability.
func frozenAt(ctx context.Context, w *Workspace, p string) error {
	data := []byte("changed")
	_, err := w.Set.Write.WriteFile(ctx, p, data)
	errs := []error{fileError("write "+p, err, ops.ErrReadOnly)}
	if t, ok := w.Set.Write.(ops.TreeWriter); ok {
		_, err := t.WriteTree(ctx, p, data)
		errs = append(errs, fileError("write with folders "+p, err, ops.ErrReadOnly))
	}
	if path.Base(p) != "file" {
		return first(errs...) // there is none
	}
	if r, ok := w.Set.Write.(ops.Replacer); ok {
		_, err := r.ReplaceFile(ctx, p, content("text"), data)
		errs = append(errs, fileError("replace "+p, err, ops.ErrReadOnly))
	}
	if e, ok := w.Set.Edit.(ops.Editor); ok {
		_, err := e.EditFile(ctx, p, edited("file", "text", "changed"))
		errs = append(errs, fileError("edit "+p, err, ops.ErrReadOnly))
	}
	if v, err := w.versioned(); err == nil {
		_, version, rerr := v.ReadVersion(ctx, p, 0)
		_, err := v.WriteVersion(ctx, p, version, data)
		errs = append(errs, rerr, fileError("write a version "+p, err, ops.ErrReadOnly))
	}
	return first(errs...)
}

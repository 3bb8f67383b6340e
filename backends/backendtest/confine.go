package backendtest

import (
	"context"
	"fmt"
	"io/fs"
	"path"

	"github.com/piremote/piremote/tools/ops"
)

func confineChecks() []Check {
	return []Check{
		{Name: "ConfineDots", Rule: "a path that leaves the root by .. is ErrOutside (CONF-02)", Run: confineDots},
		{Name: "ConfineSibling", Rule: "a folder whose name begins like the root's is outside (CONF-01)", Run: confineSibling},
		{Name: "ConfineLinkToFile", Rule: "a link to a file outside is ErrOutside (CONF-02)", Run: confineLinkToFile},
		{Name: "ConfineLinkToFolder", Rule: "what is reached through a link to a folder outside is ErrOutside (CONF-02)", Run: confineLinkToFolder},
		{Name: "ConfineDangling", Rule: "a dangling link that leads out is ErrOutside, and nothing is made there (CONF-03)", Run: confineDangling},
		{Name: "ConfineAliases", Rule: "a path outside is ErrOutside by whatever name (CONF-02)", Run: confineAliases},
		{Name: "ConfineLinkInside", Rule: "a link that stays inside is followed, be it relative or absolute", Run: confineLinkInside},
	}
}

// outside makes a folder beside the workspace's, with a file.
func (w *Workspace) outside() (dir string, err error) {
	dir = w.beside("-outside")
	return dir, w.Fixture.PutFile(dir+"/secret", []byte("secret"), 0o644)
}

// refused demands that a file and a folder outside can't be reached by these
// paths; either may be empty.
func (w *Workspace) refused(ctx context.Context, file, dir string) error {
	var errs []error
	if file != "" {
		data, err := w.Set.Read.ReadFile(ctx, file, 0)
		errs = append(errs, fileError(fmt.Sprintf("read %q", data), err, ops.ErrOutside), fileError("access", w.Set.Read.Access(ctx, file), ops.ErrOutside))
		_, err = w.Set.Write.WriteFile(ctx, file, []byte("changed"))
		errs = append(errs, fileError("write", err, ops.ErrOutside))
		_, err = w.Set.Ls.Stat(ctx, file)
		errs = append(errs, fileError("stat", err, ops.ErrOutside))
		if c, ok := w.Set.Write.(ops.Canonicalizer); ok {
			_, err = c.Canonical(ctx, file)
			errs = append(errs, fileError("canonical path", err, ops.ErrOutside))
		}
	}
	if dir != "" {
		err := w.Set.Ls.ReadDir(ctx, dir, func(fs.DirEntry) bool { return true })
		errs = append(errs, fileError("list", err, ops.ErrOutside), fileError("mkdir", w.Set.Write.MkdirAll(ctx, dir+"/made"), ops.ErrOutside))
	}
	return first(errs...)
}

// confined demands that change can't reach a file outside by any way, nor make
// one there.
func (w *Workspace) confined(change func(path string) error) error {
	dir, err := w.outside()
	if err := first(err, w.Fixture.Symlink("../"+path.Base(dir), w.at("folder")), w.Fixture.Symlink(dir+"/secret", w.at("file")),
		w.Fixture.Symlink(dir+"/new", w.at("dangling"))); err != nil {
		return err
	}
	for _, p := range []string{dir + "/secret", w.at("..", path.Base(dir), "secret"), w.at("folder", "secret"), w.at("file"), w.at("dangling")} {
		if err := first(fileError(p, change(p), ops.ErrOutside), w.untouched()); err != nil {
			return err
		}
	}
	return nil
}

// untouched demands that the folder outside is as it was made.
func (w *Workspace) untouched() error {
	dir := w.beside("-outside")
	names, err := w.Fixture.Names(dir)
	return first(err, sameNames("outside there are", names, []string{"secret"}), holds(w.Fixture, dir+"/secret", []byte("secret")))
}

func confineDots(ctx context.Context, w *Workspace) error {
	dir, err := w.outside()
	if err != nil {
		return err
	}
	up := w.at("..", path.Base(dir))
	return first(w.refused(ctx, up+"/secret", up), w.untouched())
}

func confineSibling(ctx context.Context, w *Workspace) error {
	dir, err := w.outside()
	return first(err, w.refused(ctx, dir+"/secret", dir), w.untouched())
}

func confineLinkToFile(ctx context.Context, w *Workspace) error {
	dir, err := w.outside()
	return first(err, w.Fixture.Symlink("../"+path.Base(dir)+"/secret", w.at("link")), w.Fixture.Symlink(dir+"/secret", w.at("absolute")),
		w.refused(ctx, w.at("link"), ""), w.refused(ctx, w.at("absolute"), ""), w.untouched())
}

func confineLinkToFolder(ctx context.Context, w *Workspace) error {
	dir, err := w.outside()
	return first(err, w.Fixture.Symlink("../"+path.Base(dir), w.at("link")), w.Fixture.Symlink(dir, w.at("absolute")),
		w.refused(ctx, w.at("link", "secret"), w.at("link")), w.refused(ctx, w.at("absolute", "secret"), w.at("absolute")), w.untouched())
}

func confineDangling(ctx context.Context, w *Workspace) error {
	dir, err := w.outside()
	return first(err, w.Fixture.Symlink("../"+path.Base(dir)+"/new", w.at("link")), w.Fixture.Symlink(dir+"/new", w.at("absolute")),
		w.refused(ctx, w.at("link"), ""), w.refused(ctx, w.at("absolute"), ""), w.untouched())
}

// confineAliases reads one file outside by twenty names.
func confineAliases(ctx context.Context, w *Workspace) error {
	dir, err := w.outside()
	if err != nil {
		return err
	}
	out, own := path.Base(dir), path.Base(w.Set.Target.Dir)
	if err := first(w.put(map[string]string{"a/b/file": "text"}),
		w.Fixture.Symlink("../"+out, w.at("folder")), w.Fixture.Symlink(dir, w.at("a", "absolute")), w.Fixture.Symlink("..", w.at("up")),
		w.Fixture.Symlink("../../../"+out+"/secret", w.at("a", "b", "deep")), w.Fixture.Symlink(dir+"/./../"+out+"/secret", w.at("dotted")),
		w.Fixture.Symlink("a/b/deep", w.at("chain")), w.Fixture.Symlink("chain", w.at("chain2")),
		w.Fixture.Symlink("../"+own+"/../"+out, w.at("round"))); err != nil {
		return err
	}
	aliases := []string{
		dir + "/secret", dir + "//secret", dir + "/./secret", w.at() + "-outside/secret", w.at("..", out, "secret"), w.at("", "..", out, "secret"),
		w.at("a", "..", "..", out, "secret"), w.at("a/b/../../..", out, "secret"), w.at("none", "..", "..", out, "secret"),
		w.at("folder", "secret"), w.at("folder", ".", "secret"), w.at("a", "absolute", "secret"), w.at(".", "a", "absolute", "secret"),
		w.at("up", out, "secret"), w.at("up", own, "up", out, "secret"), w.at("a", "b", "deep"), w.at("dotted"), w.at("chain"), w.at("chain2"),
		w.at("round", "secret"),
	}
	for _, p := range aliases {
		data, err := w.Set.Read.ReadFile(ctx, p, 0)
		if err := fileError(fmt.Sprintf("read %s: %q", p, data), err, ops.ErrOutside); err != nil {
			return err
		}
	}
	return nil
}

func confineLinkInside(ctx context.Context, w *Workspace) error {
	if err := first(w.put(map[string]string{"real/file": "text"}), w.Fixture.Symlink("../real/file", w.at("real", "relative")),
		w.Fixture.Symlink(w.at("real"), w.at("absolute"))); err != nil {
		return err
	}
	for _, p := range []string{w.at("real", "relative"), w.at("absolute", "file")} {
		got, err := w.Set.Read.ReadFile(ctx, p, 0)
		if err := first(done(p, err), sameBytes(p, got, []byte("text")), write(ctx, w, p, []byte("text"))); err != nil {
			return err
		}
	}
	return done("list through a link", w.Set.Ls.ReadDir(ctx, w.at("absolute"), func(fs.DirEntry) bool { return true }))
}

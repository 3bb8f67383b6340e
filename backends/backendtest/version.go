package backendtest

import (
	"context"
	"fmt"

	"github.com/piremote/piremote/tools/ops"
)

func versionChecks() []Check {
	return []Check{
		{Name: "VersionRead", Rule: "a file that nobody changes has one version, by whatever it is read; another size is another version", Run: versionRead},
		{Name: "VersionWrites", Rule: "a file of the expected version is replaced as by WriteFile, and the report tells the version of the new one (MUTQ-03)", Run: versionWrites},
		{Name: "VersionChanged", Rule: "a file of another version, or none, or a missing one is ErrChanged and stays as it is (MUTQ-05)", Run: versionChanged},
		{Name: "VersionConfined", Rule: "replacing a version of what lies outside is ErrOutside (CONF-02)", Run: versionConfined},
		{Name: "CancelledVersion", Rule: "a replacement cancelled before it began is context.Canceled and has no effect", Run: cancelledVersion},
	}
}

// versioned is what a workspace without compare and swap offers.
type versioned interface {
	ops.VersionReader
	ops.VersionWriter
}

func (w *Workspace) versioned() (versioned, error) {
	if v, ok := w.Set.Edit.(versioned); ok {
		return v, nil
	}
	return nil, fmt.Errorf("versions: %w", ErrAbsent)
}

// version is that of a file, which the target can tell.
func (w *Workspace) version(ctx context.Context, v versioned, name string) (ops.Version, error) {
	_, version, err := v.ReadVersion(ctx, w.at(name), 0)
	if err == nil && !version.Known() {
		err = fmt.Errorf("times of files: %w", ErrAbsent)
	}
	return version, err
}

func versionRead(ctx context.Context, w *Workspace) error {
	v, err := w.versioned()
	if err != nil {
		return err
	}
	if err := w.put(map[string]string{"file": "one\ntwo\n", "longer": "one\ntwo\nthree\n"}); err != nil {
		return err
	}
	data, _, err := v.ReadVersion(ctx, w.at("file"), 0)
	if err := first(err, same("the content", string(data), "one\ntwo\n")); err != nil {
		return err
	}
	file, err := w.version(ctx, v, "file")
	if err != nil {
		return err
	}
	longer, lerr := w.version(ctx, v, "longer")
	again, aerr := w.version(ctx, v, "file")
	if err := first(lerr, aerr, same("the same as that of a longer one", file.Same(longer), false), same("the same when read again", file.Same(again), true)); err != nil {
		return err
	}
	if r, ok := w.Set.Read.(ops.WindowReader); ok {
		win, err := r.ReadWindow(ctx, w.at("file"), ops.WindowRequest{Offset: 2, Limit: 1, MaxBytes: 100})
		return first(err, same("the same as that of a window", file.Same(win.Version), true))
	}
	return nil
}

func versionWrites(ctx context.Context, w *Workspace) error {
	v, err := w.versioned()
	if err != nil {
		return err
	}
	if err := first(w.Fixture.PutFile(w.at("real"), []byte("old"), 0o640), w.Fixture.Symlink("real", w.at("link"))); err != nil {
		return err
	}
	old, err := w.version(ctx, v, "real")
	if err != nil {
		return err
	}
	report, err := v.WriteVersion(ctx, w.at("link"), old, []byte("new one"))
	if err := first(done("the first", err), holds(w.Fixture, w.at("real"), []byte("new one")),
		same("Path", report.Path, w.Set.Target.Root+"/real"), same("the version of the new one is known", report.Version.Known(), true)); err != nil {
		return err
	}
	_, err = v.WriteVersion(ctx, w.at("real"), report.Version, []byte("another"))
	if err := first(done("the second", err), holds(w.Fixture, w.at("real"), []byte("another"))); err != nil {
		return err
	}
	file, ferr := w.Fixture.Lstat(w.at("real"))
	names, nerr := w.Fixture.Names(w.at())
	if err := first(ferr, nerr); err != nil {
		return err
	}
	return first(same("the mode", file.Mode(), 0o640), sameNames("the folder holds", names, []string{"real", "link"}))
}

func versionChanged(ctx context.Context, w *Workspace) error {
	v, err := w.versioned()
	if err != nil {
		return err
	}
	if err := w.put(map[string]string{"file": "text", "other": "a longer text"}); err != nil {
		return err
	}
	old, err := w.version(ctx, v, "file")
	if err != nil {
		return err
	}
	other, err := w.version(ctx, v, "other")
	if err != nil {
		return err
	}
	later := old
	later.Modified = old.Modified.Add(-1e9)
	for what, c := range map[string]struct {
		name    string
		version ops.Version
	}{
		"another size":     {"file", other},
		"another time":     {"file", later},
		"no version":       {"file", ops.Version{}},
		"a missing file":   {"missing", old},
		"a missing folder": {"no/file", old},
	} {
		_, err := v.WriteVersion(ctx, w.at(c.name), c.version, []byte("new"))
		names, nerr := w.Fixture.Names(w.at())
		if err := first(fileError(what, err, ops.ErrChanged), holds(w.Fixture, w.at("file"), []byte("text")), nerr,
			sameNames("the folder holds", names, []string{"file", "other"})); err != nil {
			return err
		}
	}
	return nil
}

func versionConfined(ctx context.Context, w *Workspace) error {
	v, err := w.versioned()
	if err != nil {
		return err
	}
	if err := w.put(map[string]string{"inside": "secret"}); err != nil {
		return err
	}
	version, err := w.version(ctx, v, "inside")
	if err != nil {
		return err
	}
	return w.confined(func(p string) error {
		_, err := v.WriteVersion(ctx, p, version, []byte("changed"))
		return err
	})
}

func cancelledVersion(ctx context.Context, w *Workspace) error {
	v, err := w.versioned()
	if err != nil {
		return err
	}
	if err := w.put(map[string]string{"file": "old"}); err != nil {
		return err
	}
	version, err := w.version(ctx, v, "file")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, err = v.WriteVersion(ctx, w.at("file"), version, []byte("new"))
	return first(cancelled("write", err), holds(w.Fixture, w.at("file"), []byte("old")))
}

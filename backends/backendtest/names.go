package backendtest

import (
	"context"
	"fmt"
	"io/fs"
)

func nameChecks() []Check {
	return []Check{
		{Name: "NamesWritten", Rule: "a name is data: files of any name are written, read and stat'ed, and nothing is executed (BASH-03, CONF-08)", Run: namesWritten},
		{Name: "NamesListed", Rule: "names are listed as the target's bytes, whatever they hold (LS-01)", Run: namesListed},
		{Name: "NamesEntered", Rule: "commands run in folders of any name (BASH-03)", Exec: true, Run: namesEntered},
	}
}

func hostileNames() []string {
	return []string{
		"a'b", `a"b`, "$(touch pwned)", "`touch pwned`", "-rf", "--help", "x\ny", "line\n", " ;touch pwned;", "& touch pwned &", "*", "?", "[a]", `a\b`, `\n`,
		"\xff\xfe", "trailing ", " leading", "tab\there", "$HOME", "~", "%s%n", "!!", "#", "ü", "...",
	}
}

func namesWritten(ctx context.Context, w *Workspace) error {
	for _, name := range hostileNames() {
		p, text := w.at(name), []byte("in "+fmt.Sprintf("%q", name))
		if err := first(write(ctx, w, p, text), holds(w.Fixture, p, text)); err != nil {
			return err
		}
		got, err := w.Set.Read.ReadFile(ctx, p, 0)
		if err := first(done(fmt.Sprintf("read %q", p), err), sameBytes(p, got, text)); err != nil {
			return err
		}
		if _, err := w.Set.Ls.Stat(ctx, p); err != nil {
			return err
		}
	}
	names, err := w.Fixture.Names(w.at())
	return first(err, sameNames("the folder holds", names, hostileNames()))
}

func namesListed(ctx context.Context, w *Workspace) error {
	for _, name := range hostileNames() {
		if err := w.Fixture.PutFile(w.at("folder", name), nil, 0o644); err != nil {
			return err
		}
	}
	var got []string
	err := w.Set.Ls.ReadDir(ctx, w.at("folder"), func(e fs.DirEntry) bool {
		got = append(got, e.Name())
		return true
	})
	return first(err, sameNames("listed", got, hostileNames()))
}

func namesEntered(ctx context.Context, w *Workspace) error {
	for _, name := range hostileNames() {
		if err := w.Fixture.Mkdir(w.at(name), 0o755); err != nil {
			return err
		}
		if _, err := w.run(ctx, "touch here", inDir(w.at(name))); err != nil {
			return fmt.Errorf("in %q: %w", name, err)
		}
		names, err := w.Fixture.Names(w.at(name))
		if err := first(err, sameNames(fmt.Sprintf("%q holds", name), names, []string{"here"})); err != nil {
			return err
		}
	}
	names, err := w.Fixture.Names(w.at())
	return first(err, sameNames("the folder holds", names, hostileNames()))
}

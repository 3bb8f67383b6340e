//go:build linux

package install_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/tools/ops"
)

// shells are the POSIX shells of this machine.
func shells() map[string][]string {
	return map[string][]string{"sh": {"/bin/sh"}, "dash": {"dash"}, "bash": {"bash", "--posix"}, "busybox": {"busybox", "sh"}}
}

func TestFirstStartSendsAndLaterOnesTakeOneExec(t *testing.T) {
	b := helpertest.Echo(t)
	for name, argv := range shells() {
		t.Run(name, func(t *testing.T) {
			dir, env := home(t)
			e := &machineExec{argv: argv, env: env}
			for i, uploaded := range []bool{true, false, false} {
				s, r, err := install.Start(t.Context(), e, b, install.Options{})
				must(t, err)
				talkTo(t, s)
				p := b.Programs()[0]
				want := install.Report{OS: p.OS, Arch: p.Arch, Hash: p.Hash, Execs: 1, Uploaded: uploaded, Path: filepath.Join(dir, ".cache", "piremote", nameOf(b))}
				if uploaded {
					want.Sent = int64(len(p.Packed()))
				}
				if fmt.Sprint(r) != fmt.Sprint(want) || e.execs != i+1 {
					t.Errorf("start %d: %+v, want %+v; %d execs", i+1, r, want, e.execs)
				}
			}
			if info, err := os.Stat(filepath.Join(dir, ".cache", "piremote")); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the folder: %v, %v", info, err)
			}
			onlyHelper(t, filepath.Join(dir, ".cache", "piremote"), b)
		})
	}
}

// onlyHelper checks that a folder holds the program and nothing else.
func onlyHelper(t *testing.T, dir string, b install.Bundle) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != nameOf(b) {
		t.Errorf("%s holds %v", dir, entries)
		return
	}
	if info, err := entries[0].Info(); err != nil || info.Mode() != 0o500 {
		t.Errorf("the program: %v, %v", info, err)
	}
}

func TestStartEndsWithTheProcess(t *testing.T) {
	_, env := home(t)
	s, _, err := install.Start(t.Context(), &machineExec{env: env}, helpertest.Echo(t), install.Options{})
	must(t, err)
	must(t, s.CloseWrite())
	if _, err := io.Copy(io.Discard, s); err != nil {
		t.Error(err)
	}
	if exit, err := s.Wait(t.Context()); err != nil || exit.Code != 7 || exit.Stderr != "bye\n" {
		t.Errorf("%+v, %v", exit, err)
	}
	must(t, s.Close())
}

// A context that ends after the start leaves the helper alone.
func TestContextBoundsTheStartAlone(t *testing.T) {
	_, env := home(t)
	ctx, cancel := context.WithCancel(t.Context())
	s, _, err := install.Start(ctx, &machineExec{env: env}, helpertest.Echo(t), install.Options{})
	must(t, err)
	cancel()
	talkTo(t, s)

	silent := &machineExec{login: script(t, "exec cat"), env: env}
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, _, err = install.Start(ctx, silent, helpertest.Echo(t), install.Options{})
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*install.CannotRunError)) {
		t.Errorf("a shell that says nothing: %v", err)
	}
}

// script makes a login shell of one line, which gets "-c" and the command line.
func script(t *testing.T, line string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "login")
	must(t, os.WriteFile(file, []byte("#!/bin/sh\n"+line+"\n"), 0o755))
	return file
}

// Start-up files talk, and shells echo what they are told (hazard SSHX-02).
func TestSSHX02NoiseBeforeTheAnswerIsSkipped(t *testing.T) {
	b := helpertest.Echo(t)
	for name, noise := range map[string]string{
		"lines":           `echo welcome; echo to this machine`,
		"no newline":      `printf "welcome "`,
		"an echo":         `printf "%s\n" "$2"`,
		"errors":          `set -x; echo oops >&2`,
		"binary":          `head -c 70000 /dev/urandom`,
		"much":            `yes welcome | head -c 1000000`,
		"half a marker":   `printf "%s" "$2" | tr -d "a-fA-F0-9"`,
		"takes the input": `cat <&- 2>/dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			dir, env := home(t)
			e := &machineExec{login: script(t, noise+`; shift; eval "$1"`), env: env}
			for range 2 {
				s, r, err := install.Start(t.Context(), e, b, install.Options{})
				must(t, err)
				talkTo(t, s)
				if filepath.Dir(r.Path) != dir+"/.cache/piremote" {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

// What comes in place of an answer is named, and it is no broken link.
func TestWhatIsNoShellIsNamed(t *testing.T) {
	b := helpertest.Echo(t)
	for name, c := range map[string]struct{ login, words string }{
		"nologin": {`echo "This account is currently not available."; exit 1`, `exit status 1 after "This account is currently not available."`},
		"silent":  {`exit 127`, "exit status 127 and said nothing"},
		"error":   {`echo "no shell for $((40+2))" >&2; exit 3`, `"no shell for 42"`},
		"escapes": {`printf "\033[31mred\a\n"; exit 1`, `after "[31mred"`},
		"endless": {`yes welcome`, "more than 1048576 bytes"},
		"killed":  {`kill -9 $$`, "ended"},
	} {
		t.Run(name, func(t *testing.T) {
			_, env := home(t)
			_, _, err := install.Start(t.Context(), &machineExec{login: script(t, c.login), env: env}, b, install.Options{Target: "ssh://there"})
			cannot(t, err, c.words, "ssh://there")
		})
	}
}

// cannot checks that an error says that the helper can't run, with the words.
func cannot(t *testing.T, err error, words ...string) {
	t.Helper()
	var cannot *install.CannotRunError
	if !errors.As(err, &cannot) || ops.KindOf(err) != ops.KindUnavailable {
		t.Errorf("%v is no error of a target where the helper can't run", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\ufffd' }) {
		t.Errorf("%q is not one plain line", err)
	}
}

func TestManyClientsAtTheSameMoment(t *testing.T) {
	b := helpertest.Echo(t)
	dir, env := home(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			s, _, err := install.Start(t.Context(), &machineExec{env: env}, b, install.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			talkTo(t, s)
		})
	}
	all.Wait()
	onlyHelper(t, filepath.Join(dir, ".cache", "piremote"), b)
}

// An upload that broke off does no harm, and goes when it is a day old.
func TestBrokenUploads(t *testing.T) {
	b := helpertest.Echo(t)
	a := newAccount(t) // every folder is tried
	e := a.exec()
	e.cut = 10_000
	_, _, err := install.Start(t.Context(), e, b, install.Options{})
	if err == nil {
		t.Error("an upload that was cut succeeded")
	}
	folder := a.cache
	must(t, os.WriteFile(filepath.Join(folder, "new-old"), []byte("x"), 0o600))
	must(t, os.WriteFile(filepath.Join(folder, "new-young"), []byte("x"), 0o600))
	days := time.Now().Add(-49 * time.Hour)
	must(t, os.Chtimes(filepath.Join(folder, "new-old"), days, days))
	a.own(t, filepath.Join(folder, "new-old"))
	if r := start(t, a.exec(), b); !r.Uploaded || filepath.Dir(r.Path) != folder {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(folder, "new-old")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old file is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "new-young")); err != nil {
		t.Errorf("what may be under way is gone: %v", err)
	}
}

func TestWithoutHelpersStartSaysHowToGetThem(t *testing.T) {
	_, _, err := install.Start(t.Context(), &machineExec{}, install.Bundle{}, install.Options{})
	cannot(t, err, "make build")
	if !errors.As(err, new(*install.AbsentError)) {
		t.Errorf("%v is no AbsentError", err)
	}
}

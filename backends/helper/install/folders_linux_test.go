//go:build linux

package install_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/internal/require"
)

// account is an account of this machine without a name, so that its folders outside
// its home are no one else's.
type account struct {
	id      uint32
	home    string
	cache   string // the first folder for the helper
	second  string // the second one
	outside []string
	env     []string
}

// newAccount needs root.
func newAccount(t *testing.T) *account {
	t.Helper()
	if os.Getuid() != 0 {
		require.Missing(t, "root", "running as another account needs it")
	}
	dir, env := home(t)
	a := &account{id: uint32(1_000_000 + os.Getpid()), home: dir, env: env}
	a.cache, a.second = filepath.Join(dir, ".cache", "piremote"), filepath.Join(dir, ".piremote")
	for _, parent := range []string{"/var/tmp", "/tmp", "/dev/shm"} {
		a.outside = append(a.outside, fmt.Sprintf("%s/piremote-%d", parent, a.id))
	}
	t.Cleanup(func() {
		for _, d := range a.outside {
			must(t, os.RemoveAll(d))
		}
	})
	must(t, os.Chmod(filepath.Dir(dir), 0o755)) // the account must get there
	a.own(t, dir)
	return a
}

// own gives a file to the account.
func (a *account) own(t *testing.T, file string) {
	t.Helper()
	must(t, os.Lchown(file, int(a.id), int(a.id)))
}

// folder makes a private folder of the account.
func (a *account) folder(t *testing.T, dir string) {
	t.Helper()
	if parent := filepath.Dir(dir); parent != a.home {
		must(t, os.MkdirAll(parent, 0o700))
		a.own(t, parent)
	}
	must(t, os.MkdirAll(dir, 0o700))
	a.own(t, dir)
}

// file makes a file of the account.
func (a *account) file(t *testing.T, file string, data []byte, mode os.FileMode) {
	t.Helper()
	must(t, os.WriteFile(file, data, mode))
	must(t, os.Chmod(file, mode))
	a.own(t, file)
}

func (a *account) exec() *machineExec { return &machineExec{env: a.env, account: a.id} }

// start starts the helper, talks to it, and returns the report.
func start(t *testing.T, e *machineExec, b install.Bundle) install.Report {
	t.Helper()
	s, r, err := install.Start(t.Context(), e, b, install.Options{})
	must(t, err)
	talkTo(t, s)
	return r
}

// What is not the account's own, private and plain is passed over, with the reason,
// and never run.
func TestFoldersAndFilesThatAreNotTrusted(t *testing.T) {
	b := helpertest.Echo(t)
	program, err := b.Programs()[0].Bytes()
	must(t, err)
	evil := []byte("#!/bin/sh\ntouch /tmp/evil-ran-$$\n")
	for name, c := range map[string]struct {
		prepare func(t *testing.T, a *account)
		words   string
	}{
		"a linked folder": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, a.cache+"-other")
			must(t, os.Symlink(a.cache+"-other", a.cache))
		}, "is a link"},
		"a foreign folder": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, a.cache)
			must(t, os.Chmod(a.cache, 0o755))
			must(t, os.Chown(a.cache, 0, 0))
		}, "belongs to another account"},
		"a foreign private folder": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, a.cache)
			must(t, os.Chown(a.cache, 0, 0))
		}, "cannot be entered"},
		"a folder that others can change": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, a.cache)
			must(t, os.Chmod(a.cache, 0o770))
		}, "is not private: its mode is drwxrwx---"},
		"a folder that others can read": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, a.cache)
			must(t, os.Chmod(a.cache, 0o755))
		}, "chmod 700"},
		"a file in its place": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, filepath.Dir(a.cache))
			a.file(t, a.cache, nil, 0o700)
		}, "is no folder"},
		"a linked helper": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, a.cache)
			a.file(t, filepath.Join(a.home, "evil"), evil, 0o500)
			must(t, os.Symlink(filepath.Join(a.home, "evil"), filepath.Join(a.cache, nameOf(b))))
		}, "holds a link in the place of the helper"},
		"a helper linked to the right program": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, a.cache)
			a.file(t, filepath.Join(a.home, "good"), program, 0o500)
			must(t, os.Symlink(filepath.Join(a.home, "good"), filepath.Join(a.cache, nameOf(b))))
		}, "holds a link in the place of the helper"},
		"a foreign helper": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, a.cache)
			must(t, os.WriteFile(filepath.Join(a.cache, nameOf(b)), program, 0o755))
		}, "belongs to another account"},
		"a helper that its group can change": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, a.cache)
			a.file(t, filepath.Join(a.cache, nameOf(b)), program, 0o570)
		}, "others can change: its mode is -r-xrwx---"},
		"a helper that all can change": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, a.cache)
			a.file(t, filepath.Join(a.cache, nameOf(b)), program, 0o557)
		}, "others can change"},
		"a folder in the helper's place": {func(t *testing.T, a *account) {
			t.Helper()
			a.folder(t, a.cache)
			a.folder(t, filepath.Join(a.cache, nameOf(b)))
		}, "something else in the place"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			c.prepare(t, a)
			for _, uploaded := range []bool{true, false} {
				r := start(t, a.exec(), b)
				if len(r.Passed) != 1 || !strings.HasPrefix(r.Passed[0], a.cache+" ") || !strings.Contains(r.Passed[0], c.words) {
					t.Errorf("passed over %q, want %q", r.Passed, c.words)
				}
				if r.Path != filepath.Join(a.second, nameOf(b)) || r.Uploaded != uploaded {
					t.Errorf("%+v", r)
				}
			}
		})
	}
	if ran, _ := filepath.Glob("/tmp/evil-ran-*"); len(ran) > 0 {
		t.Errorf("a file in the helper's place was run: %q", ran)
	}
}

// A helper of the account that was changed is not run but replaced.
func TestAChangedHelperIsReplaced(t *testing.T) {
	b := helpertest.Echo(t)
	program, err := b.Programs()[0].Bytes()
	must(t, err)
	for name, data := range map[string][]byte{
		"another program": []byte("#!/bin/sh\necho " + "piremote-helper linux/" + runtime.GOARCH + "\n"),
		"cut":             program[:len(program)/2],
		"empty":           nil,
		"one byte":        append(slices.Clone(program[:len(program)-1]), program[len(program)-1]^1),
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			a.folder(t, a.cache)
			a.file(t, filepath.Join(a.cache, nameOf(b)), data, 0o500)
			r := start(t, a.exec(), b)
			if !r.Uploaded || filepath.Dir(r.Path) != a.cache || len(r.Passed) != 1 || !strings.Contains(r.Passed[0], "was changed") {
				t.Errorf("%+v", r)
			}
			if r := start(t, a.exec(), b); r.Uploaded || len(r.Passed) > 0 {
				t.Errorf("the second start: %+v", r)
			}
			onlyHelper(t, a.cache, b)
		})
	}
}

// A folder that lets no program run or has no room is passed over (hazard SSHX-15).
func TestSSHX15NoexecAndFullFolders(t *testing.T) {
	b := helpertest.Echo(t)
	packed := int64(len(b.Programs()[0].Packed()))
	for name, c := range map[string]struct {
		mount, words string
		sent         int64
	}{
		"noexec":    {"mode=755,noexec", "lets no program run", packed},
		"full":      {"mode=755,size=256k", "No space left", 2 * packed},
		"read-only": {"mode=755,ro", "Read-only file system", packed},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			mountTmpfs(t, filepath.Join(a.home, ".cache"), c.mount+fmt.Sprintf(",uid=%d", a.id))
			r := start(t, a.exec(), b)
			if r.Path != filepath.Join(a.second, nameOf(b)) || len(r.Passed) != 1 || !strings.Contains(r.Passed[0], c.words) || r.Sent != c.sent {
				t.Errorf("%+v, want %q and %d bytes sent", r, c.words, c.sent)
			}
			if r := start(t, a.exec(), b); r.Uploaded || r.Path != filepath.Join(a.second, nameOf(b)) {
				t.Errorf("the second start: %+v", r)
			}
			if left, _ := filepath.Glob(a.cache + "/*"); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// A folder that became noexec after the helper was put there.
func TestAFolderThatLetsNoProgramRunAnyMore(t *testing.T) {
	b := helpertest.Echo(t)
	a := newAccount(t)
	folder := filepath.Join(a.home, ".cache")
	mountTmpfs(t, folder, fmt.Sprintf("mode=755,uid=%d", a.id))
	start(t, a.exec(), b)
	if out, err := exec.CommandContext(t.Context(), "mount", "-o", "remount,noexec", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r := start(t, a.exec(), b); r.Path != filepath.Join(a.second, nameOf(b)) || len(r.Passed) == 0 || !strings.Contains(r.Passed[0], "Permission denied") {
		t.Errorf("%+v", r)
	}
}

// Without a home, and with one that is not there, folders outside it are used.
func TestFoldersOutsideTheHome(t *testing.T) {
	b := helpertest.Echo(t)
	for name, env := range map[string][]string{
		"none":     {},
		"empty":    {"HOME="},
		"relative": {"HOME=home", "XDG_CACHE_HOME=cache"},
		"missing":  {"HOME=/nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			a.env = append(env, "PATH=/usr/bin:/bin")
			if r := start(t, a.exec(), b); filepath.Dir(r.Path) != a.outside[0] {
				t.Errorf("%+v", r)
			}
			if _, err := os.Stat("/nonexistent"); err == nil {
				t.Error("a home was made")
			}
		})
	}
	a := newAccount(t)
	run := filepath.Join(a.home, "run")
	a.folder(t, run)
	a.env = []string{"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + run}
	if r := start(t, a.exec(), b); filepath.Dir(r.Path) != run+"/piremote" {
		t.Errorf("%+v", r)
	}
	// Names that a shell would read.
	odd := filepath.Join(a.home, "it's a \"$HOME\" `x` *\\n")
	a.folder(t, odd)
	a.env = []string{"PATH=/usr/bin:/bin", "XDG_CACHE_HOME=" + odd, "IFS=/"}
	for range 2 {
		if r := start(t, a.exec(), b); filepath.Dir(r.Path) != odd+"/piremote" {
			t.Errorf("%+v", r)
		}
	}
	// A path that is no line can't be told in one.
	lines := filepath.Join(a.home, "two\nlines")
	a.folder(t, lines)
	a.env = []string{"PATH=/usr/bin:/bin", "XDG_CACHE_HOME=" + lines}
	for range 2 {
		if r := start(t, a.exec(), b); filepath.Dir(r.Path) != a.outside[0] {
			t.Errorf("%+v", r)
		}
	}
}

// Where no folder serves, each is named with its reason.
func TestNoFolderAtAll(t *testing.T) {
	b := helpertest.Echo(t)
	a := newAccount(t)
	must(t, os.Chown(a.home, 0, 0))
	must(t, os.Chmod(a.home, 0o755))
	for _, dir := range a.outside {
		must(t, os.Mkdir(dir, 0o755)) // somebody else was there first
	}
	_, r, err := install.Start(t.Context(), a.exec(), b, install.Options{})
	cannot(t, err, append(slices.Clone(a.outside), "no folder can hold the helper", a.second, "belongs to another account", "Permission denied")...)
	if r.Sent != 0 {
		t.Errorf("%+v", r)
	}
}

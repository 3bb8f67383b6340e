//go:build linux

package install_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/internal/require"
)

// extract extracts the helper for as long as the test lasts.
func extract(t *testing.T, b install.Bundle, dir string) (file string) {
	t.Helper()
	program, err := b.Extract(dir)
	must(t, err)
	t.Cleanup(func() { must(t, program.Close()) })
	return program.Path
}

func TestExtract(t *testing.T) {
	b := helpertest.Echo(t)
	dir := filepath.Join(t.TempDir(), "cache", "piremote")
	file := extract(t, b, dir)
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o500 || filepath.Dir(file) != dir {
		t.Errorf("%s: %v, %v", file, info, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode() != 0o700|os.ModeDir {
		t.Errorf("%s: %v, %v", dir, info, err)
	}
	if out, err := exec.CommandContext(t.Context(), file, helper.Version).Output(); err != nil || string(out) != helper.VersionLine("linux", runtime.GOARCH)+"\n" {
		t.Errorf("%q, %v", out, err)
	}
	first, err := os.Stat(file)
	must(t, err)
	again := extract(t, b, dir)
	if second, err := os.Stat(again); err != nil || again != file || !os.SameFile(first, second) {
		t.Errorf("%s was not kept: %v", again, err)
	}
}

func TestExtractReplacesAChangedProgramAndSweeps(t *testing.T) {
	b := helpertest.Echo(t)
	dir := filepath.Join(t.TempDir(), "piremote")
	file := extract(t, b, dir)
	data, err := os.ReadFile(file)
	must(t, err)
	young, old := filepath.Join(dir, "new-young"), filepath.Join(dir, "new-old")
	for _, f := range []string{young, old} {
		must(t, os.WriteFile(f, nil, 0o600))
	}
	yesterday := time.Now().Add(-25 * time.Hour)
	must(t, os.Chtimes(old, yesterday, yesterday))
	for what, change := range map[string]func([]byte) []byte{
		"a byte":   func(d []byte) []byte { d[len(d)/2] ^= 1; return d },
		"cut":      func(d []byte) []byte { return d[:len(d)/2] },
		"empty":    func([]byte) []byte { return nil },
		"appended": func(d []byte) []byte { return append(d, 0) },
	} {
		must(t, os.Remove(file))
		must(t, os.WriteFile(file, change(append([]byte{}, data...)), 0o500))
		again := extract(t, b, dir)
		if got, err := os.ReadFile(again); err != nil || string(got) != string(data) {
			t.Errorf("%s: the changed program is still there: %v", what, err)
		}
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a broken extraction left is still there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("what may be under way is gone: %v", err)
	}
}

func TestExtractRefuses(t *testing.T) {
	b := helpertest.Echo(t)
	name := nameOf(b)
	for what, c := range map[string]struct {
		prepare func(t *testing.T, dir string)
		words   string
	}{
		"a link to a folder": {func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Symlink(t.TempDir(), dir))
		}, "is no folder"},
		"a file": {func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.WriteFile(dir, nil, 0o700))
		}, "is no folder"},
		"an open folder": {func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Chmod(dir, 0o770))
		}, "chmod 700"},
		"a linked program": {func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Symlink("/bin/true", filepath.Join(dir, name)))
		}, "no regular file"},
		"a program that others can change": {func(t *testing.T, dir string) {
			t.Helper()
			file := extract(t, b, dir)
			must(t, os.Chmod(file, 0o520))
		}, "others can change it"},
		"a foreign folder": {func(t *testing.T, dir string) {
			t.Helper()
			foreign(t)
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Chown(dir, 12345, -1))
		}, "another account"},
		"a foreign program": {func(t *testing.T, dir string) {
			t.Helper()
			foreign(t)
			file := extract(t, b, dir)
			must(t, os.Chown(file, 12345, -1))
		}, "another account"},
		"noexec": {func(t *testing.T, dir string) {
			t.Helper()
			mountTmpfs(t, dir, "noexec,mode=700")
		}, "noexec"},
		"full": {func(t *testing.T, dir string) {
			t.Helper()
			mountTmpfs(t, dir, "size=64k,mode=700")
		}, "no space left"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "piremote")
			c.prepare(t, dir)
			program, err := b.Extract(dir)
			if err == nil || !strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%+v, %v, want %q", program, err, c.words)
			}
			if left, _ := filepath.Glob(dir + "/new-*"); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestExtractAtTheSameTime(t *testing.T) {
	b := helpertest.Echo(t)
	dir := filepath.Join(t.TempDir(), "piremote")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			program, err := b.Extract(dir)
			if err != nil {
				t.Error(err)
				return
			}
			if err := program.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if left, _ := filepath.Glob(dir + "/*"); len(left) != 1 {
		t.Errorf("there are %q", left)
	}
}

func TestExtractFindsNothingInAnEmptyBundle(t *testing.T) {
	var absent *install.AbsentError
	if _, err := (install.Bundle{}).Extract(t.TempDir()); !errors.As(err, &absent) || !strings.Contains(err.Error(), "make build") {
		t.Errorf("%v", err)
	}
}

// foreign skips a test that gives files to another account.
func foreign(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		require.Missing(t, "root", "files of another account need it")
	}
}

// mountTmpfs mounts a memory file system for the test.
func mountTmpfs(t *testing.T, dir, options string) {
	t.Helper()
	if os.Getuid() != 0 {
		require.Missing(t, "root", "mounting needs it")
	}
	must(t, os.MkdirAll(dir, 0o700))
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		require.Missing(t, "mount", string(out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

//go:build linux

package wire

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/install"
)

// supervised returns the path of the supervisor, empty if there is none.
func supervised(t *testing.T, b install.Bundle, o Options) string {
	t.Helper()
	program := supervisor(b, o)
	if program == nil {
		return ""
	}
	t.Cleanup(func() {
		if err := program.Close(); err != nil {
			t.Error(err)
		}
	})
	return program.Path
}

func TestSupervisorLiesInTheFirstFolderThatTakesIt(t *testing.T) {
	b := helpertest.Bundle(t)
	home, run := t.TempDir(), t.TempDir()
	var notices []string
	o := Options{
		Env:    []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + run},
		Notice: func(s string) { notices = append(notices, s) },
	}
	if got, want := filepath.Dir(supervised(t, b, o)), filepath.Join(home, ".cache", "piremote"); got != want {
		t.Errorf("it lies in %s, want %s", got, want)
	}
	if err := os.Chmod(filepath.Join(home, ".cache", "piremote"), 0o777); err != nil {
		t.Fatal(err)
	}
	if got, want := filepath.Dir(supervised(t, b, o)), filepath.Join(run, "piremote"); got != want || len(notices) > 0 {
		t.Errorf("it lies in %s, want %s; notices %q", got, want, notices)
	}
	if err := os.Chmod(filepath.Join(run, "piremote"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Join(home, "none"))
	if err := os.WriteFile(filepath.Join(home, "none"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := supervised(t, b, o); got != "" || len(notices) != 1 || strings.Count(notices[0], "chmod 700") != 2 {
		t.Errorf("it lies in %s, notices %q", got, notices)
	}
}

func TestWithoutHelpersThereIsNoSupervisorAndNoNotice(t *testing.T) {
	o := Options{Env: []string{"HOME=" + t.TempDir()}, Notice: func(s string) { t.Error(s) }}
	if got := supervised(t, install.Bundle{}, o); got != "" {
		t.Errorf("it lies in %s", got)
	}
}

func TestCacheFoldersAreAbsolute(t *testing.T) {
	for _, env := range [][]string{nil, {"HOME="}, {"HOME=relative", "XDG_CACHE_HOME=also/relative", "XDG_RUNTIME_DIR=x"}, {"HOME=/h", "XDG_CACHE_HOME=/c"}} {
		list := cacheFolders(env)
		for _, dir := range list {
			if !filepath.IsAbs(dir) {
				t.Errorf("%q: %q", env, list)
			}
		}
	}
	if got := cacheFolders([]string{"HOME=/h", "XDG_CACHE_HOME=/c"})[0]; got != "/c/piremote" {
		t.Errorf("%s", got)
	}
}

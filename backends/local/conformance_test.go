//go:build linux

package local_test

import (
	"path/filepath"
	"testing"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/backends/local"
)

func TestConformance(t *testing.T) {
	backendtest.Run(t, backendtest.Harness{Name: "local", Open: func(tb testing.TB) backendtest.Workspace {
		base, err := filepath.EvalSymlinks(tb.TempDir())
		if err != nil {
			tb.Fatal(err)
		}
		dir := filepath.Join(base, "ws")
		fixture := backendtest.HostDir(dir, dir)
		if err := fixture.Mkdir(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		w, err := local.Open(tb.Context(), local.Options{
			Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, SpillDir: tb.TempDir(), LockDir: filepath.Join(base, "locks"),
		})
		if err != nil {
			tb.Fatal(err)
		}
		return backendtest.Workspace{Set: w.Set(), Fixture: fixture, Close: w.Close}
	}})
}

package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/piremote/piremote/backends/backendtest"
)

func TestExtraRoots(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "ws")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f := backendtest.HostDir(dir, dir)
	if err := backendtest.PutRoots(f, dir); err != nil {
		t.Fatal(err)
	}
	w, _, _ := open(t, func(o *Options) { o.Dir, o.ExtraRoots = dir, backendtest.ExtraRoots(dir) })
	if err := backendtest.CheckRoots(t.Context(), &backendtest.Workspace{Set: w.Set(), Fixture: f}); err != nil {
		t.Error(err)
	}
}

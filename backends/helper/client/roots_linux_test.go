package client_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/backends/helper/client"
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
	w, err := client.Open(t.Context(), client.Options{
		Dial: helper(t, t.TempDir()), Label: "helper:" + dir, Backend: "helper", Dir: dir, ExtraRoots: backendtest.ExtraRoots(dir),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := backendtest.CheckRoots(t.Context(), &backendtest.Workspace{Set: w.Set(), Fixture: f}); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

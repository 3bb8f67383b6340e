package install_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/backends/helper/remote"
)

// versions are two versions of the helper that both work.
func versions(t *testing.T) (one, other install.Bundle) {
	t.Helper()
	one = helpertest.Bundle(t)
	program, err := one.Programs()[0].Bytes()
	must(t, err)
	return one, bundleOf(t, append(bytes.Clone(program), 0), one.Programs()[0].Arch)
}

// openBy opens a workspace on this machine by a version of the helper.
func openBy(t *testing.T, b install.Bundle, env []string) *remote.Workspace {
	t.Helper()
	dir := t.TempDir()
	w, reason, err := remote.Open(t.Context(), remote.Options{
		Policy: helper.Require, Bundle: b, Exec: &machineExec{env: env}, Target: "here",
		Client: client.Options{Label: "here:", Dir: dir},
	})
	if err != nil || w == nil {
		t.Fatal(reason, err)
	}
	t.Cleanup(func() { _ = w.Close() }) // it may be closed
	return w
}

// has reports whether a folder has the helper of a version.
func has(dir string, b install.Bundle) bool {
	_, err := os.Lstat(filepath.Join(dir, nameOf(b)))
	return err == nil
}

// A version that a client works with is listed and stays; when nobody does, it goes
// when that is asked for, and the version that asks stays.
func TestCollectRemovesVersionsThatNobodyUses(t *testing.T) {
	one, other := versions(t)
	dir, env := home(t)
	cache := filepath.Join(dir, ".cache", "piremote")
	busy := openBy(t, other, env)
	w := openBy(t, one, env)
	for _, c := range []struct {
		name          string
		collect, used bool
		left          bool
	}{
		{"listed in use", false, true, true},
		{"collected in use", true, true, true},
		{"listed", false, false, true},
		{"collected", true, false, false},
	} {
		if !c.used {
			must(t, busy.Close())
		}
		found, err := w.Inventory(t.Context(), c.collect)
		must(t, err)
		if len(found.Copies) != 1 || found.Copies[0].Name != nameOf(other) || found.Copies[0].InUse != c.used || time.Since(found.Copies[0].Used) > time.Hour {
			t.Errorf("%s: found %+v", c.name, found.Copies)
		}
		if has(cache, other) != c.left || !has(cache, one) {
			t.Errorf("%s: the other version is there: %t, this one: %t", c.name, has(cache, other), has(cache, one))
		}
	}
	if found, err := w.Inventory(t.Context(), true); err != nil || len(found.Copies) > 0 {
		t.Errorf("found %+v, %v", found.Copies, err)
	}
	// Who still has the version carries it again.
	if r := openBy(t, other, env).Report(); !r.Uploaded {
		t.Errorf("%+v", r)
	}
}

// A helper that starts removes the versions that nobody has used for a month.
func TestStartRemovesOldVersions(t *testing.T) {
	one, other := versions(t)
	dir, env := home(t)
	cache := filepath.Join(dir, ".cache", "piremote")
	must(t, openBy(t, other, env).Close())
	young := "helper-" + strings.Repeat("ab", 32)
	must(t, os.WriteFile(filepath.Join(cache, young), nil, 0o500))
	month := time.Now().Add(-31 * 24 * time.Hour)
	must(t, os.Chtimes(filepath.Join(cache, nameOf(other)), month, month))
	w := openBy(t, one, env)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); has(cache, other); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("the old version is still there")
		}
	}
	if found, err := w.Inventory(t.Context(), false); err != nil || len(found.Copies) != 1 || found.Copies[0].Name != young {
		t.Errorf("found %+v, %v", found.Copies, err)
	}
}

// A version that this machine's client has extracted stays as long as it may start
// it, also when a helper collects in the same folder.
func TestCollectKeepsWhatIsExtracted(t *testing.T) {
	one, other := versions(t)
	dir, env := home(t)
	cache := filepath.Join(dir, ".cache", "piremote")
	program, err := other.Extract(cache)
	must(t, err)
	w := openBy(t, one, env)
	_, err = w.Inventory(t.Context(), true)
	must(t, err)
	if !has(cache, other) {
		t.Error("it is gone")
	}
	must(t, program.Close())
	_, err = w.Inventory(t.Context(), true)
	must(t, err)
	if has(cache, other) {
		t.Error("it is still there")
	}
}

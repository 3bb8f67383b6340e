package programs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/internal/require"
)

// programName is what a program is called whose hash consists of one digit.
func programName(digit string) string { return "helper-" + strings.Repeat(digit, 64) }

// put makes a file that was used so long ago.
func put(t *testing.T, dir, name string, ago time.Duration) {
	t.Helper()
	file := filepath.Join(dir, name)
	must(t, os.WriteFile(file, []byte("program"), 0o500))
	used := time.Now().Add(-ago)
	must(t, os.Chtimes(file, used, used))
}

// names are those of the files in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Only programs of other versions go, that nobody uses; each is listed, with its use.
func TestRemoveKeepsWhatIsUsed(t *testing.T) {
	dir := t.TempDir()
	own, held, free, again := programName("0"), programName("1"), programName("2"), programName("3")+"-00ff"
	for _, name := range []string{own, held, free, again} {
		put(t, dir, name, time.Hour)
	}
	f, err := Hold(filepath.Join(dir, held))
	must(t, err)
	for round, want := range [][]string{{held, free, again}, {held}} {
		list, err := Others(dir, own)
		must(t, err)
		removed, err := Remove(dir, own, 0)
		must(t, err)
		for _, found := range [][]helper.Copy{list, removed} {
			var have []string
			for _, c := range found {
				have = append(have, c.Name)
				if c.InUse != (c.Name == held) || c.Size != 7 {
					t.Errorf("%+v", c)
				}
				if old := time.Since(c.Used) > 30*time.Minute; old == (c.Name == held) {
					t.Errorf("%s: the time of its use is %v", c.Name, c.Used)
				}
			}
			if !slices.Equal(have, want) {
				t.Errorf("round %d: %q, want %q", round, have, want)
			}
		}
		if have, want := names(t, dir), []string{own, held}; !slices.Equal(have, want) {
			t.Errorf("round %d: left are %q, want %q", round, have, want)
		}
	}
	must(t, f.Close())
	if _, err := Remove(dir, own, 0); err != nil || len(names(t, dir)) != 1 {
		t.Errorf("when it is given up: %q, %v", names(t, dir), err)
	}
}

// What nobody has used for long goes, what somebody begins to use does not.
func TestRemoveByAge(t *testing.T) {
	dir := t.TempDir()
	own, young, old, used := programName("0"), programName("1"), programName("2"), programName("3")
	put(t, dir, own, 2*Unused)
	put(t, dir, young, Unused-time.Hour)
	put(t, dir, old, Unused+time.Hour)
	put(t, dir, used, Unused+time.Hour)
	f, err := Hold(filepath.Join(dir, used))
	must(t, err)
	must(t, f.Close())
	_, err = Remove(dir, own, Unused)
	must(t, err)
	if have, want := names(t, dir), []string{own, young, used}; !slices.Equal(have, want) {
		t.Errorf("left are %q, want %q", have, want)
	}
}

// What is no program of this account is neither listed nor removed.
func TestRemoveLeavesWhatIsNotOurs(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	target := filepath.Join(elsewhere, "target")
	must(t, os.WriteFile(target, nil, 0o600))
	must(t, os.Symlink(target, filepath.Join(dir, programName("a"))))
	must(t, os.Mkdir(filepath.Join(dir, programName("b")), 0o700))
	for _, name := range []string{
		"helper", "helper-", "helper-" + strings.Repeat("z", 64), "helper-abcd", programName("c") + "-", programName("c") + "x",
		programName("c") + "-x", "new-" + strings.Repeat("d", 64), "x" + programName("e"), "locks",
	} {
		put(t, dir, name, 2*Unused)
	}
	if os.Getuid() == 0 {
		put(t, dir, programName("f"), 2*Unused)
		must(t, os.Chown(filepath.Join(dir, programName("f")), 12345, -1))
	} else if require.Demanded("root") {
		t.Error("root is required but not there: a file of another account needs it")
	}
	before := names(t, dir)
	list, err := Remove(dir, programName("0"), 0)
	if err != nil || len(list) > 0 || !slices.Equal(names(t, dir), before) {
		t.Errorf("found %+v, %v; left %q of %q", list, err, names(t, dir), before)
	}
	if _, err := os.Stat(target); err != nil {
		t.Error(err)
	}
}

// Who comes too late for a program learns that it is gone.
func TestHoldOfAProgramThatGoes(t *testing.T) {
	dir := t.TempDir()
	name := programName("1")
	put(t, dir, name, time.Hour)
	f, err := os.Open(filepath.Join(dir, name))
	must(t, err)
	defer func() { _ = f.Close() }()
	_, err = Remove(dir, "", 0)
	must(t, err)
	if err := hold(f); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was open before: %v", err)
	}
	if _, err := Hold(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is gone: %v", err)
	}
}

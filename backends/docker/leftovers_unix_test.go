//go:build unix

package docker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Only one process at a time takes a claim over.
func TestTakeOverIsForOne(t *testing.T) {
	dir := t.TempDir()
	release, err := claim(dir, "live", "here")
	must(t, err)
	defer release()
	must(t, os.WriteFile(filepath.Join(dir, "dead"), []byte("there"), 0o600))
	for _, name := range []string{"live", "none", "../" + filepath.Base(dir) + "/live"} {
		if host, release := takeOver(dir, name); release != nil {
			t.Errorf("%s was taken over, at %q", name, host)
		}
	}
	host, give := takeOver(dir, "dead")
	if give == nil || host != "there" {
		t.Fatalf("the claim of a dead process: %q", host)
	}
	if _, more := takeOver(dir, "dead"); more != nil {
		t.Error("two have taken it over")
	}
	give()
	if _, give = takeOver(dir, "dead"); give == nil {
		t.Fatal("nobody can take it over any more")
	}
	give()
}

// A sandbox whose changes can't be kept stays, and is named with the reason; the next
// time they are kept, and it goes. Records of copies that are gone go, but for those at
// another daemon.
func TestCollectKeepsChangesFirst(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	o := Options{Host: f.host()}
	folder, state, changes := t.TempDir(), t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(state, "tok"), []byte(o.Host), 0o600))
	f.list = fmt.Sprintf(`[{"Id":%q,"Names":["/piremote-a"],"State":"running","Created":%d,"Labels":{"piremote.sandbox":"tok","piremote.until":"%d","piremote.keep":"false"}}]`,
		fakeID, time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix())
	for name, host := range map[string]string{"piremote-a": o.Host, "piremote-gone": o.Host, "piremote-far": "tcp://far:1"} {
		of := copyRecord{Host: host, Folder: folder, Dir: "/ws", Image: "img:1", Base: manifest{"old": {Mode: 0o644, Size: 1, Hash: "1"}}}
		must(t, of.write(filepath.Join(changes, name)))
	}

	list, err := Collect(t.Context(), o, state, changes)
	if err == nil || !strings.Contains(err.Error(), "the sandbox piremote-a stays") || !strings.Contains(err.Error(), "the volume is broken") {
		t.Errorf("%v", err)
	}
	if len(list) != 1 || list[0].Removed || time.Since(list[0].Created).Round(time.Minute) != time.Hour || f.seen("DELETE") != 0 {
		t.Errorf("%+v, %q", list, f.paths)
	}
	for name, want := range map[string]bool{"piremote-a": true, "piremote-gone": false, "piremote-far": true} {
		if _, err := readCopyRecord(filepath.Join(changes, name)); (err == nil) != want {
			t.Errorf("the record of %s: %v", name, err)
		}
	}

	f.get = entries(t, file("ws/new", "text")).Bytes()
	list, err = Collect(t.Context(), o, state, changes)
	must(t, err)
	if len(list) != 1 || !list[0].Removed || f.seen("DELETE") != 1 {
		t.Errorf("%+v, %q", list, f.paths)
	}
	sets, err := Changes(changes, folder)
	must(t, err)
	if len(sets) != 1 || len(sets[0].Changes) != 2 || sets[0].Name != "piremote-a" || sets[0].Image != "img:1" {
		t.Fatalf("%+v", sets)
	}
	if got, err := os.ReadFile(sets[0].Content(sets[0].Changes[0])); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	if left, err := os.ReadDir(state); err != nil || len(left) != 0 {
		t.Errorf("claims %v, %v", left, err)
	}
	if _, err := readCopyRecord(filepath.Join(changes, "piremote-a")); !os.IsNotExist(err) {
		t.Errorf("its record: %v", err)
	}
}

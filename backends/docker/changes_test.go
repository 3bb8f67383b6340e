package docker

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entries makes an archive.
func entries(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := h.PAXRecords["VENDOR.content"]
		h.PAXRecords, h.Size = nil, int64(len(content))
		must(t, w.WriteHeader(&h))
		_, err := w.Write([]byte(content))
		must(t, err)
	}
	must(t, w.Close())
	return &b
}

func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, PAXRecords: map[string]string{"VENDOR.content": content}}
}

func TestDKF04HostileArchivesAreRefused(t *testing.T) {
	for name, h := range map[string]tar.Header{
		"above":      file("ws/../x", "x"),
		"beside":     file("other/x", "x"),
		"absolute":   file("/etc/passwd", "x"),
		"a prefix":   file("wsx", "x"),
		"dots":       file("ws/./x", "x"),
		"a far link": {Typeflag: tar.TypeLink, Name: "ws/x", Linkname: "../etc/passwd"},
		"no target":  {Typeflag: tar.TypeLink, Name: "ws/x", Linkname: "ws/y"},
	} {
		dir := t.TempDir()
		c := &collector{dir: dir, after: manifest{}}
		if err := c.read(entries(t, h), "ws"); err == nil {
			t.Errorf("%s: it was taken as %+v", name, c.after)
		}
	}
}

// Nothing of an archive is unpacked but contents under their hash.
func TestDKF04LinksOfAnArchiveAreOnlyNoted(t *testing.T) {
	dir := t.TempDir()
	c := &collector{dir: dir, after: manifest{}}
	must(t, c.read(entries(t, tar.Header{Typeflag: tar.TypeDir, Name: "ws/", Mode: 0o755}, file("ws/a", "same"), file("ws/b", "same"),
		tar.Header{Typeflag: tar.TypeSymlink, Name: "ws/d", Linkname: "/etc"}, file("ws/d/passwd", "evil"),
		tar.Header{Typeflag: tar.TypeLink, Name: "ws/h", Linkname: "ws/a"}, tar.Header{Typeflag: tar.TypeFifo, Name: "ws/f"}), "ws"))
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 2 { // same and evil
		t.Errorf("%v, %v", list, err)
	}
	if c.after["d"].Link != "/etc" || c.after["h"] != c.after["a"] || len(c.skipped) != 1 || c.skipped[0] != "f" {
		t.Errorf("%+v, %q", c.after, c.skipped)
	}
}

// A hard link to a file that the sandbox did not change has that file's content, as long
// as nobody changed it here.
func TestHardLinkToAnUnchangedFileIsApplied(t *testing.T) {
	for _, here := range []string{"same", "mine", ""} {
		folder := t.TempDir()
		hash := sha256.Sum256([]byte("same"))
		a := FileState{Mode: 0o644, Size: 4, Hash: hex.EncodeToString(hash[:])}
		if here != "" {
			must(t, os.WriteFile(filepath.Join(folder, "a"), []byte(here), 0o644))
		}
		root, err := os.OpenRoot(folder)
		must(t, err)
		c := &collector{dir: t.TempDir(), folder: root, base: manifest{"a": a}, after: manifest{}}
		must(t, c.read(entries(t, file("ws/a", "same"), tar.Header{Typeflag: tar.TypeLink, Name: "ws/h", Linkname: "ws/a"}), "ws"))
		must(t, root.Close())
		set := &ChangeSet{Folder: folder, dir: c.dir, Changes: c.changes()}
		list, err := set.Apply()
		must(t, err)
		if len(list) != 1 || (list[0].Refused == nil) != (here == "same") || here != "same" && !errors.Is(list[0].Refused, errNotKept) {
			t.Errorf("with %q here: %+v", here, list)
		}
		if got, err := os.ReadFile(filepath.Join(folder, "h")); here == "same" && (err != nil || string(got) != "same") {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// A change whose way leads out of the folder, or to something else by now, is refused.
func TestCONF02ApplyStaysInTheFolder(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	must(t, os.Symlink(outside, filepath.Join(folder, "d")))
	must(t, os.Mkdir(filepath.Join(folder, "was"), 0o755))
	content := &FileState{Mode: 0o644, Size: 1, Hash: strings.Repeat("0", 64)}
	c := &ChangeSet{Folder: folder, dir: t.TempDir(), Changes: []Change{
		{Path: "d/x", After: content},
		{Path: "../x", After: content},
		{Path: "was", Before: content},
		{Path: "l", After: &FileState{Mode: fs.ModeSymlink, Link: "a/../../x"}},
		{Path: "damaged", After: content},
	}}
	must(t, os.WriteFile(filepath.Join(c.dir, content.Hash), []byte("x"), 0o600))
	list, err := c.Apply()
	must(t, err)
	for _, a := range list {
		if a.Refused == nil {
			t.Errorf("%s was made", a.Change.Path)
		}
	}
	if len(list) != 5 || len(c.Changes) != 5 || !errors.Is(list[0].Refused, ErrChangedHere) {
		t.Errorf("%+v", list)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 2 {
		t.Errorf("in the folder are %v, %v", left, err)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Errorf("outside are %v, %v", left, err)
	}
}

// A change whose content is gone is refused and stays; one of permissions needs none.
func TestApplyWithoutContentIsRefused(t *testing.T) {
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "a"), []byte("x"), 0o644))
	must(t, os.WriteFile(filepath.Join(folder, "m"), []byte("x"), 0o644))
	hash := sha256.Sum256([]byte("x"))
	before := &FileState{Mode: 0o644, Size: 1, Hash: hex.EncodeToString(hash[:])}
	c := &ChangeSet{Folder: folder, dir: t.TempDir(), Changes: []Change{
		{Path: "a", Before: before, After: &FileState{Mode: 0o755, Size: 2, Hash: strings.Repeat("1", 64)}},
		{Path: "link", After: before},
		{Path: "m", Before: before, After: &FileState{Mode: 0o755, Size: 1, Hash: before.Hash}},
	}}
	list, err := c.Apply()
	must(t, err)
	if len(list) != 3 || !errors.Is(list[0].Refused, errNotKept) || !errors.Is(list[1].Refused, errNotKept) || list[2].Refused != nil || len(c.Changes) != 2 {
		t.Errorf("%+v", list)
	}
	for name, mode := range map[string]fs.FileMode{"a": 0o644, "m": 0o755} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

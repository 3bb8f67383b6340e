package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/piremote/piremote/tools/ops"
)

// trading replaces "one" by "two" in a folder, with meanwhile between the last look at
// the file and the change.
func trading(t *testing.T, meanwhile func(p string)) (dir, kept string, err error) {
	t.Helper()
	_, e, dir := open(t)
	p := filepath.Join(dir, "f")
	put(t, p, "one")
	report, err := e.change(t.Context(), p, func(j job) (r ops.WriteReport, err error) {
		if j.seen, err = j.dir.read(t.Context(), j.base, 0); err != nil {
			return r, err
		}
		defer j.seen.close()
		temp, err := j.dir.temp(j.named)
		if err != nil {
			return r, err
		}
		defer temp.discard()
		check(t, fill(t.Context(), temp.file, []byte("two")))
		meanwhile(p)
		traded, err := j.trade(temp)
		if traded {
			r.Kept = j.displaced(temp)
		}
		return r, err
	})
	return dir, report.Kept, err
}

// What another program does after the last look is found after the change: both
// versions are there.
func TestMUTQ04ChangesInTheLastMomentAreKept(t *testing.T) {
	for name, meanwhile := range changes(t) {
		var after string
		dir, kept, err := trading(t, func(p string) { meanwhile(p); after = snapshot(t, filepath.Dir(p)) })
		_, gone := os.Lstat(filepath.Join(dir, "f.orig"))
		if errors.Is(err, fs.ErrNotExist) { // it was removed, and stays so
			if now := snapshot(t, dir); now != after || kept != "" {
				t.Errorf("%s: %v, kept as %q\n%s\n%s", name, err, kept, after, now)
			}
			continue
		}
		data, rerr := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil || rerr != nil || string(data) != "two" || kept != "f.orig" || gone != nil {
			t.Errorf("%s: %v, kept as %q, %v; f holds %q, %v", name, err, kept, gone, data, rerr)
		}
		check(t, os.RemoveAll(filepath.Join(dir, "f")))
		check(t, os.Rename(filepath.Join(dir, "f.orig"), filepath.Join(dir, "f")))
		if now := snapshot(t, dir); now != after {
			t.Errorf("%s: kept is another\n%s\n%s", name, after, now)
		}
		noTemp(t, dir)
	}
}

// A program that has opened the file and writes later finds what it wrote under another
// name.
func TestMUTQ04AFileThatIsOpenForWritingIsKept(t *testing.T) {
	var f *os.File
	dir, kept, err := trading(t, func(p string) {
		var err error
		f, err = os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
		check(t, err)
		check(t, os.WriteFile(p+".orig", []byte("older"), 0o600))
	})
	check(t, err)
	_, err = f.WriteString(", late")
	check(t, errors.Join(err, f.Close()))
	for name, want := range map[string]string{"f": "two", "f.orig": "older", "f.orig.1": "one, late"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if kept != "f.orig.1" {
		t.Errorf("kept as %q", kept)
	}
	noTemp(t, dir)
}

// A program that reads the file keeps nothing.
func TestMUTQ04AReaderIsNoWriter(t *testing.T) {
	var f *os.File
	dir, kept, err := trading(t, func(p string) {
		var err error
		f, err = os.Open(p)
		check(t, err)
	})
	check(t, errors.Join(err, f.Close()))
	if data, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(data) != "two" || kept != "" {
		t.Errorf("%q, %v, kept as %q", data, err, kept)
	}
	noTemp(t, dir)
}

// editsBeside is how often a file is edited while another program changes it too.
func editsBeside() int {
	if os.Getenv("PIREMOTE_SOAK") == "1" { //nolint:forbidigo // tests read their own switches
		return 2_000
	}
	return 200
}

// theirsEach is how many changes another program may make for each edit: one that never
// rests would let none pass.
const theirsEach = 3

// Somebody appends to the file in place, in pieces, while it is edited: each line is in
// the file or in one that was kept, and each edit is there.
func TestMUTQ04AnInPlaceWriterLosesNothing(t *testing.T) {
	besideAnother(t, true, func(p string, i int) error {
		f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("their")
		_, err2 := fmt.Fprintf(f, " %d\n", i)
		return errors.Join(err, err2, f.Close())
	})
}

// Somebody replaces the file with an edited copy, as editors do. Such a program loses
// what was written after it read; none of what it writes is lost.
func TestMUTQ04AnEditorThatReplacesLosesNothing(t *testing.T) {
	besideAnother(t, false, func(p string, i int) error {
		data, err := os.ReadFile(p)
		if err == nil {
			err = os.WriteFile(p+"~", fmt.Appendf(data, "their %d\n", i), 0o600)
		}
		if err == nil {
			err = os.Rename(p+"~", p)
		}
		return err
	})
}

// besideAnother edits a file while another program adds "their 0" and so on to it, which
// either leaves alone what it does not add, or not.
func besideAnother(t *testing.T, leaves bool, add func(p string, i int) error) {
	t.Helper()
	_, e, dir := open(t)
	p := filepath.Join(dir, "f")
	put(t, p, "mine -1\n")
	edits := editsBeside()
	allowed := make(chan struct{}, edits*theirsEach)
	var group sync.WaitGroup
	stop, cancel := context.WithCancel(t.Context())
	theirs := 0
	group.Go(func() {
		for ; ; theirs++ {
			select {
			case <-allowed:
			case <-stop.Done():
				return
			}
			if err := add(p, theirs); err != nil {
				t.Errorf("their %d: %v", theirs, err)
				return
			}
		}
	})
	refused, kept := 0, 0
	for i := range edits {
		for range theirsEach {
			allowed <- struct{}{}
		}
		for {
			data, err := e.ReadFile(t.Context(), p, 0)
			check(t, err)
			line, _, _ := strings.Cut(string(data), "\n")
			report, err := e.EditFile(t.Context(), p, edit(line+"\n", fmt.Sprintf("mine %d\n", i)))
			if err == nil {
				kept += min(len(report.Kept), 1)
				break
			}
			var mismatch *ops.MismatchError
			if refused++; !errors.Is(err, ops.ErrChanged) && !errors.As(err, &mismatch) {
				t.Fatalf("edit %d: %v", i, err)
			}
		}
	}
	cancel()
	group.Wait()
	all := everything(t, dir)
	lost := 0
	for i := range theirs {
		if !strings.Contains(all, fmt.Sprintf("their %d\n", i)) {
			lost++
		}
	}
	data, err := os.ReadFile(p)
	if err != nil || lost > 0 || leaves && !strings.HasPrefix(string(data), fmt.Sprintf("mine %d\n", edits-1)) {
		t.Errorf("%d of %d are lost, %v: %.40q", lost, theirs, err, data)
	}
	t.Logf("%d edits beside %d of theirs: %d refused, %d versions kept", edits, theirs, refused, kept)
	noTemp(t, dir)
}

// everything joins what the files of a folder hold.
func everything(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	var all strings.Builder
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		check(t, err)
		all.Write(data)
	}
	return all.String()
}

// A kept version has a name of its own, however many there are and however long the name.
func TestKeptNames(t *testing.T) {
	_, _, dir := open(t)
	d := &folder{file: opened(t, dir), names: &tempNames{}}
	names := map[string]bool{}
	for _, base := range []string{"f", strings.Repeat("\u00e4", 127)} {
		for i := range keptNames + 2 {
			temp, err := d.temp(true)
			check(t, err)
			check(t, temp.complete())
			name := temp.keep(base)
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil || names[name] || !strings.Contains(name, ".orig") || !utf8.ValidString(name) {
				t.Errorf("%d: %q, %v", i, name, err)
			}
			names[name] = true
			temp.discard()
		}
	}
	if got := len(names); got != 2*(keptNames+2) {
		t.Errorf("%d names", got)
	}
	noTemp(t, dir)
}

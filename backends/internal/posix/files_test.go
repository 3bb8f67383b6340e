//go:build linux

package posix

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"sort"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/ops"
)

func TestProbe(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		p := f.Probe()
		if p.OS != "linux" || p.Dir != f.dir || p.Root != f.dir || p.Home != "/nowhere" || !p.Proc || !p.HeadBytes || p.Stat != "c" || p.Sh == "" {
			t.Errorf("probe: %+v", p)
		}
		if n := f.runner.runs.Load(); n != 1 {
			t.Errorf("%d round trips", n)
		}
		_, err := New(t.Context(), Options{Runner: f.runner, Dir: f.dir + "/gone", Label: "x"})
		if ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), f.dir+"/gone") {
			t.Errorf("missing folder: %v", err)
		}
	})
}

// hostile are names that a shell could take for something else.
func hostile() []string {
	return []string{
		"a'b$(touch pwned)", "`touch pwned`", "-rf", "\nx\ny\n", " ;touch pwned;# ", "~root", "*?[a]\t\"", "a\\b\r", "\xff\xfe!", "(=&|c>d", "..name", "%s%n{a,b}$HOME caf\u00e9",
	}
}

func TestBASH03HostileNames(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for _, name := range hostile() {
			p := f.path("d-" + name + "/" + name)
			must(t, f.MkdirAll(ctx, f.path("d-"+name)))
			data := []byte("content of " + name)
			report, err := f.WriteFile(ctx, p, data)
			if err != nil {
				t.Fatalf("%q: %v", name, err)
			}
			if report.Path != p || !report.Created || report.InPlace != "" {
				t.Errorf("%q: %+v", name, report)
			}
			got, err := os.ReadFile(p)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%q: %q, %v", name, got, err)
			}
			must(t, f.Access(ctx, p))
			got, err = f.ReadFile(ctx, p, 0)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("read %q: %q, %v", name, got, err)
			}
			info, err := f.Stat(ctx, p)
			if err != nil || info.Size() != int64(len(data)) || info.Name() != name {
				t.Errorf("stat %q: %v, %v", name, info, err)
			}
			if c, err := f.Canonical(ctx, p); err != nil || c != p {
				t.Errorf("canonical %q: %q, %v", name, c, err)
			}
			var names []string
			must(t, f.ReadDir(ctx, f.path("d-"+name), func(e fs.DirEntry) bool {
				names = append(names, e.Name())
				return true
			}))
			if diff := cmp.Diff([]string{name}, names); diff != "" {
				t.Errorf("readdir: %s", diff)
			}
		}
		if left, _ := os.ReadDir("."); left != nil {
			for _, e := range left {
				if e.Name() == "pwned" {
					t.Error("a name was run as a command")
				}
			}
		}
		if _, err := os.Lstat(f.path("pwned")); err == nil {
			t.Error("a name was run as a command")
		}
		_, err := f.ReadFile(ctx, f.path("a\x00b"), 0)
		want(t, err, fs.ErrInvalid)
	})
}

func TestReadFile(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		all := make([]byte, 5<<20)
		for i := range all {
			all[i] = byte(i * 7 >> 3)
		}
		f.put(t, "big", string(all))
		f.put(t, "empty", "")
		got, err := f.ReadFile(ctx, f.path("big"), 0)
		if err != nil || !bytes.Equal(got, all) {
			t.Errorf("big: %d bytes, %v", len(got), err)
		}
		got, err = f.ReadFile(ctx, f.path("big"), int64(len(all)))
		if err != nil || !bytes.Equal(got, all) {
			t.Errorf("exact limit: %d bytes, %v", len(got), err)
		}
		_, err = f.ReadFile(ctx, f.path("big"), int64(len(all))-1)
		want(t, err, ops.ErrTooLarge)
		_, err = f.ReadFile(ctx, f.path("big"), 10)
		want(t, err, ops.ErrTooLarge)
		if got, err := f.ReadFile(ctx, f.path("empty"), 10); err != nil || len(got) != 0 {
			t.Errorf("empty: %q, %v", got, err)
		}
		if got, err := f.free().ReadFile(ctx, "/proc/self/status", 1<<20); err != nil || !bytes.Contains(got, []byte("Pid:")) {
			t.Errorf("proc: %q, %v", got, err)
		}
	})
}

func TestREAD03SpecialFilesDoNotBlock(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		must(t, syscall.Mkfifo(f.path("fifo"), 0o600))
		f.put(t, "file", "x")
		for _, c := range []struct {
			name string
			want error
		}{
			{"fifo", ops.ErrNotRegular}, {"", ops.ErrIsDir}, {"gone", fs.ErrNotExist}, {"gone/x", fs.ErrNotExist}, {"file/x", ops.ErrNotDir},
		} {
			want(t, f.Access(ctx, f.path(c.name)), c.want)
			_, err := f.ReadFile(ctx, f.path(c.name), 0)
			want(t, err, c.want)
			var pe *fs.PathError
			if !errors.As(err, &pe) {
				t.Errorf("%s: %T", c.name, err)
			}
			if c.name != "gone" {
				_, err = f.WriteFile(ctx, f.path(c.name), []byte("x"))
				want(t, err, c.want)
			}
		}
	})
}

func TestLS01ReadDirTypes(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.put(t, "file", "")
		f.put(t, ".hidden", "")
		must(t, os.Mkdir(f.path("dir"), 0o755))
		must(t, os.Mkdir(f.path("none"), 0o755))
		must(t, os.Symlink("file", f.path("link")))
		must(t, os.Symlink("dir", f.path("dirlink")))
		must(t, os.Symlink("nowhere", f.path("dangling")))
		must(t, os.Symlink("loop", f.path("loop")))
		must(t, syscall.Mkfifo(f.path("fifo"), 0o600))
		var got []string
		must(t, f.ReadDir(ctx, f.dir, func(e fs.DirEntry) bool {
			got = append(got, e.Type().String()+" "+e.Name())
			return true
		}))
		entries, err := os.ReadDir(f.dir)
		must(t, err)
		var oracle []string
		for _, e := range entries {
			oracle = append(oracle, e.Type().String()+" "+e.Name())
		}
		sort.Strings(got)
		sort.Strings(oracle)
		if diff := cmp.Diff(oracle, got); diff != "" {
			t.Error(diff)
		}
		n := 0
		must(t, f.ReadDir(ctx, f.path("none"), func(fs.DirEntry) bool { n++; return true }))
		if n != 0 {
			t.Errorf("%d entries in an empty folder", n)
		}
		want(t, f.ReadDir(ctx, f.path("file"), nil), ops.ErrNotDir)
		want(t, f.ReadDir(ctx, f.path("gone"), nil), fs.ErrNotExist)
	})
}

func TestStatAgreesWithTheSystem(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.put(t, "file", "hello")
		must(t, os.Chmod(f.path("file"), 0o751|fs.ModeSetuid))
		must(t, os.Symlink("file", f.path("link")))
		must(t, os.Mkdir(f.path("dir"), 0o750))
		must(t, syscall.Mkfifo(f.path("fifo"), 0o600))
		for _, name := range []string{"file", "link", "dir", "fifo", ""} {
			got, err := f.Stat(ctx, f.path(name))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			oracle, err := os.Stat(f.path(name))
			must(t, err)
			sys, _ := oracle.Sys().(*syscall.Stat_t)
			id, _ := got.Sys().(ops.FileID)
			if got.Size() != oracle.Size() || got.Mode() != oracle.Mode() || !got.ModTime().Equal(oracle.ModTime()) || id.Inode != sys.Ino || id.Device != sys.Dev {
				t.Errorf("%s: %+v, want %v %v %v", name, got, oracle.Size(), oracle.Mode(), oracle.ModTime())
			}
		}
		_, err := f.Stat(ctx, f.path("gone"))
		want(t, err, fs.ErrNotExist)
	})
}

//go:build linux

package posix

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/ops"
)

func TestWriteSizes(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for _, n := range []int{0, 1, 4096, 128 << 10, 5 << 20} {
			data := bytes.Repeat([]byte("\x00\r\n'\xff"), n/5+1)[:n]
			for _, created := range []bool{true, false} {
				r, err := f.WriteFile(t.Context(), f.path("f"+strconv.Itoa(n)), data)
				if err != nil || r.Created != created || r.InPlace != "" {
					t.Errorf("%d: %+v, %v", n, r, err)
				}
				got, err := os.ReadFile(f.path("f" + strconv.Itoa(n)))
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d: got %d, %v", n, len(got), err)
				}
			}
		}
		_, err := f.WriteFile(t.Context(), f.path("gone/x"), nil)
		want(t, err, fs.ErrNotExist)
	})
}

func TestDKF05ModeAndOwnerAreKept(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		p := f.put(t, "script", "old")
		if os.Geteuid() == 0 {
			must(t, os.Chown(p, 1234, 4321))
		}
		must(t, os.Chmod(p, 0o751|fs.ModeSetuid))
		_, err := f.WriteFile(t.Context(), p, []byte("new"))
		must(t, err)
		info, err := os.Stat(p)
		must(t, err)
		st, _ := info.Sys().(*syscall.Stat_t)
		if st.Mode&0o7777 != 0o4751 || os.Geteuid() == 0 && (st.Uid != 1234 || st.Gid != 4321) {
			t.Errorf("mode %o owner %d:%d", st.Mode, st.Uid, st.Gid)
		}
		_, err = f.WriteFile(t.Context(), f.path("fresh"), []byte("new"))
		must(t, err)
		must(t, os.WriteFile(f.out+"/oracle", nil, 0o666))
		a, err := os.Stat(f.path("fresh"))
		must(t, err)
		b, err := os.Stat(f.out + "/oracle")
		must(t, err)
		if a.Mode() != b.Mode() {
			t.Errorf("new file has %v, want %v", a.Mode(), b.Mode())
		}
	})
}

func TestWRIT03LinksStayLinks(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.put(t, "real/file", "old")
		must(t, os.Symlink("real", f.path("dir")))
		must(t, os.Symlink("dir/file", f.path("link")))
		r, err := f.WriteFile(ctx, f.path("link"), []byte("new"))
		must(t, err)
		r.Version = ops.Version{}
		if diff := cmp.Diff(ops.WriteReport{Path: f.path("real/file")}, r); diff != "" {
			t.Error(diff)
		}
		if target, err := os.Readlink(f.path("link")); err != nil || target != "dir/file" {
			t.Errorf("link: %q, %v", target, err)
		}
		must(t, os.Symlink("real/fresh", f.path("dangling")))
		r, err = f.WriteFile(ctx, f.path("dangling"), []byte("x"))
		if err != nil || r.Path != f.path("real/fresh") || !r.Created {
			t.Errorf("dangling: %+v, %v", r, err)
		}
		must(t, os.Link(f.path("real/file"), f.path("second")))
		r, err = f.WriteFile(ctx, f.path("second"), []byte("both"))
		got, _ := os.ReadFile(f.path("real/file"))
		if err != nil || r.InPlace == "" || string(got) != "both" {
			t.Errorf("hard link: %+v, %v, %q", r, err, got)
		}
	})
}

func TestWRIT01FullDiskKeepsTheOldBytes(t *testing.T) { //nolint:tparallel // its subtests share nothing with other tests but time
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	each(t, func(t *testing.T, f *fixture) {
		small := f.path("small")
		must(t, os.Mkdir(small, 0o755))
		if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=1m", "none", small).CombinedOutput(); err != nil {
			t.Skipf("no tmpfs: %s", out)
		}
		t.Cleanup(func() {
			_ = exec.CommandContext(context.WithoutCancel(t.Context()), "umount", small).Run()
		})
		old := strings.Repeat("o", 600<<10)
		f.put(t, "small/f", old)
		f.put(t, "small/linked", "abc")
		must(t, os.Link(f.path("small/linked"), f.path("small/linked2")))
		for _, name := range []string{"small/f", "small/linked", "small/fresh"} {
			before, readErr := os.ReadFile(f.path(name))
			_, err := f.WriteFile(t.Context(), f.path(name), bytes.Repeat([]byte("n"), 900<<10))
			want(t, err, ops.ErrNoSpace)
			after, afterErr := os.ReadFile(f.path(name))
			if !bytes.Equal(before, after) || (readErr == nil) != (afterErr == nil) {
				t.Errorf("%s changed: %d bytes, %v", name, len(after), afterErr)
			}
		}
		if left, _ := filepath.Glob(small + "/.piremote*"); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

func TestMkdirAll(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		must(t, f.MkdirAll(ctx, f.path("a/b c/\n/d")))
		must(t, f.MkdirAll(ctx, f.path("a/b c/\n/d")))
		must(t, f.MkdirAll(ctx, f.dir))
		if info, err := os.Stat(f.path("a/b c/\n/d")); err != nil || !info.IsDir() {
			t.Errorf("%v", err)
		}
		f.put(t, "file", "")
		want(t, f.MkdirAll(ctx, f.path("file")), ops.ErrNotDir)
		want(t, f.MkdirAll(ctx, f.path("file/x")), ops.ErrNotDir)
		must(t, os.Symlink(f.out, f.path("leak")))
		want(t, f.MkdirAll(ctx, f.path("leak/x/y")), ops.ErrOutside)
		want(t, f.MkdirAll(ctx, f.out+"/x"), ops.ErrOutside)
		if entries, _ := os.ReadDir(f.out); len(entries) > 0 {
			t.Errorf("outside: %v", entries)
		}
	})
}

func TestCONF02LinksThatLeadOutAreRefused(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		must(t, os.WriteFile(f.out+"/secret", []byte("secret"), 0o644))
		must(t, os.Mkdir(f.dir+"-evil", 0o755))
		must(t, os.WriteFile(f.dir+"-evil/x", nil, 0o644))
		f.put(t, "inside/file", "ok")
		for name, target := range map[string]string{
			"leak": f.out, "leak2": f.out + "/secret", "draft": f.out + "/new", "far": "/no/such/place", "d2": "draft", "up": "../ws-out/new",
			"chain": "leak/secret", "fine": "inside/file", "round": "../ws/inside", "a": "b", "b": "a",
		} {
			must(t, os.Symlink(target, f.path(name)))
		}
		for _, p := range []string{
			f.path("leak/secret"), f.path("leak2"), f.path("draft"), f.path("d2"), f.path("far"), f.path("up"), f.path("chain"), f.path("leak"),
			f.path("leak/gone"), f.path("far/x"), f.out + "/secret", f.out + "/gone", f.dir + "-evil/x", "/etc/passwd", "/gone", "/", f.path("../ws-out/secret"),
		} {
			_, err := f.ReadFile(ctx, p, 0)
			want(t, err, ops.ErrOutside)
			_, err = f.WriteFile(ctx, p, []byte("x"))
			want(t, err, ops.ErrOutside)
			if t.Failed() {
				t.Fatalf("at %s", p)
			}
		}
		for _, p := range []string{f.path("leak/secret"), f.path("draft"), f.path("leak"), "/gone"} {
			want(t, f.Access(ctx, p), ops.ErrOutside)
			_, err := f.Stat(ctx, p)
			want(t, err, ops.ErrOutside)
			want(t, f.ReadDir(ctx, p, nil), ops.ErrOutside)
			_, err = f.Canonical(ctx, p)
			want(t, err, ops.ErrOutside)
			_, err = f.ReadWindow(ctx, p, ops.WindowRequest{})
			want(t, err, ops.ErrOutside)
		}
		for _, name := range []string{"fine", "round/file"} {
			got, err := f.ReadFile(ctx, f.path(name), 0)
			if err != nil || string(got) != "ok" {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		_, err := f.ReadFile(ctx, f.path("a"), 0)
		want(t, err, ops.ErrLoop)
		_, err = f.WriteFile(ctx, f.path("a"), nil)
		want(t, err, ops.ErrLoop)
		if entries, _ := os.ReadDir(f.out); len(entries) != 1 {
			t.Errorf("outside: %v", entries)
		}
	})
}

func TestMUTQCanonical(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		must(t, os.Mkdir(f.path("target"), 0o755))
		must(t, os.Symlink("target", f.path("alias")))
		must(t, os.Symlink("target/new", f.path("newlink")))
		for in, out := range map[string]string{
			"alias/new": "target/new", "target/new": "target/new", "newlink": "target/new", "alias": "target", "": "",
			"alias/x/y/z": "target/x/y/z", "alias/../target/.": "target", "alias//q": "target/q",
		} {
			got, err := f.Canonical(ctx, f.path(in))
			if want := strings.TrimSuffix(f.path(out), "/"); err != nil || got != want {
				t.Errorf("%s: %q, %v, want %q", in, got, err, want)
			}
		}
	})
}

func TestREAD04Window(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for name, data := range map[string]string{
			"empty": "", "onel": "a\n", "two": "a\nb", "bin": "a\x00b\n\xff\n\x00", "many": strings.Repeat("line\r\n", 3000),
			"long": strings.Repeat("x", 10000) + "\nshort\n" + strings.Repeat("y", 50),
		} {
			f.put(t, name, data)
			for _, req := range []ops.WindowRequest{
				{Offset: 1, Limit: 10000, MaxBytes: 1000}, {Offset: 2, Limit: 2, MaxBytes: 51200}, {Offset: 2999, Limit: 5, MaxBytes: 12}, {Offset: 1, Limit: 1, MaxBytes: 1},
			} {
				got, err := f.ReadWindow(t.Context(), f.path(name), req)
				must(t, err)
				got.Version = ops.Version{}
				oracle := windowOracle([]byte(data), req)
				if diff := cmp.Diff(oracle, got, cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })); diff != "" {
					t.Errorf("%s %+v: %s", name, req, diff)
				}
			}
		}
	})
}

// windowOracle chooses lines from the whole content.
func windowOracle(data []byte, req ops.WindowRequest) ops.Window {
	w := ops.Window{Size: int64(len(data)), Head: data[:min(len(data), ops.WindowHead)]}
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	w.TotalLines = len(lines)
	for i := req.Offset - 1; i < len(lines) && w.Lines < req.Limit; i++ {
		if len(w.Data)+len(lines[i]) > req.MaxBytes {
			if w.Lines == 0 {
				w.LineBytes = int64(len(lines[i]))
			}
			break
		}
		w.Data = append(w.Data, lines[i]...)
		w.Lines++
	}
	w.Invalid = strings.ToValidUTF8(string(w.Data), "?") != string(w.Data)
	return w
}

func TestSaidMapsTheTextsOfTools(t *testing.T) {
	for text, target := range map[string]error{
		"head: write error: No space left on device\n":                      ops.ErrNoSpace,
		"mv: cannot move './a: Permission denied' to './b': Is a directory": ops.ErrIsDir,
		"/bin/sh: 1: cannot create ./x: Directory nonexistent":              fs.ErrNotExist,
		"sh: can't create ./x: Read-only file system":                       ops.ErrReadOnly,
		"mkdir: can't create directory './x': File exists":                  fs.ErrExist,
		"cat: x: Symbolic link loop":                                        ops.ErrLoop,
		"warning\nsh: line 1: ./x: Operation not permitted\n":               fs.ErrPermission,
	} {
		if err := said(text); !errors.Is(err, target) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := said("x: Something new"); err == nil || err.Error() != "Something new" {
		t.Errorf("unknown text: %v", err)
	}
}

// Whoever took every write bit away meant it, for root too; a rename over the
// file would not ask.
func TestWRIT04ReadOnlyFileIsRefused(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for mode, refused := range map[fs.FileMode]bool{0o444: true, 0o555: true, 0o400: true, 0o2444: true, 0o644: false, 0o200: false, 0o022: false} {
			p := f.put(t, "f"+strconv.FormatUint(uint64(mode), 8), "old")
			must(t, os.Chmod(p, mode.Perm()))
			if mode&0o2000 != 0 {
				must(t, os.Chmod(p, mode.Perm()|fs.ModeSetgid))
			}
			_, err := f.WriteFile(t.Context(), p, []byte("new"))
			if !refused {
				if os.Geteuid() == 0 && err != nil {
					t.Errorf("mode %o: %v", mode, err)
				}
				continue
			}
			want(t, err, fs.ErrPermission)
			if got, err := os.ReadFile(p); err != nil || string(got) != "old" {
				t.Errorf("mode %o: %q, %v", mode, got, err)
			}
		}
	})
}

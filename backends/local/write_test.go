//go:build linux

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/tools/ops"
)

// noTemp checks that no temporary file stays.
func noTemp(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if isTemp(entry.Name()) {
			t.Errorf("%s stays", entry.Name())
		}
	}
}

// named makes writes use named temporary files.
func named(w *Workspace) { w.facts.proc = false }

func TestWriteFile(t *testing.T) {
	for _, unnamed := range []bool{true, false} {
		w, e, dir := open(t)
		if !unnamed {
			named(w)
		}
		p := filepath.Join(dir, "f")
		r, err := e.WriteFile(t.Context(), p, []byte("one"))
		if err != nil || r != (ops.WriteReport{Path: p, Created: true}) {
			t.Errorf("%+v, %v", r, err)
		}
		if info, err := os.Stat(p); err != nil || info.Mode() != 0o666&^w.facts.umask {
			t.Errorf("mode of a new file: %v, %v", info.Mode(), err)
		}
		if err := os.Chmod(p, 0o604); err != nil {
			t.Fatal(err)
		}
		before := stat(t, p)
		r, err = e.WriteFile(t.Context(), p, []byte("two"))
		if err != nil || r != (ops.WriteReport{Path: p}) {
			t.Errorf("%+v, %v", r, err)
		}
		after := stat(t, p)
		if after.Ino == before.Ino || after.Mode != before.Mode {
			t.Errorf("not replaced, or another mode: %+v, %+v", before, after)
		}
		if got := contents(t, dir); len(got) != 1 || got["f"] != "two" {
			t.Errorf("%v", got)
		}
		for path, want := range map[string]error{dir: ops.ErrIsDir, p + "/x": ops.ErrNotDir, dir + "/no/x": fs.ErrNotExist} {
			if _, err := e.WriteFile(t.Context(), path, nil); !errors.Is(err, want) {
				t.Errorf("%s: %v", path, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.WriteFile(ctx, p, []byte("three")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		noTemp(t, dir)
	}
}

func stat(t testing.TB, p string) syscall.Stat_t {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Lstat(p, &st); err != nil {
		t.Fatal(err)
	}
	return st
}

func TestWRIT03LinksStay(t *testing.T) {
	_, e, dir := open(t)
	real, sym, a, b := filepath.Join(dir, "real"), filepath.Join(dir, "sym"), filepath.Join(dir, "a"), filepath.Join(dir, "b")
	put(t, real, "old")
	link(t, "real", sym)
	if r, err := e.WriteFile(t.Context(), sym, []byte("new")); err != nil || r.Path != real || r.InPlace != "" {
		t.Errorf("%+v, %v", r, err)
	}
	put(t, a, "old content that is longer")
	if err := os.Link(a, b); err != nil {
		t.Fatal(err)
	}
	if r, err := e.WriteFile(t.Context(), a, []byte("new")); err != nil || r.InPlace == "" {
		t.Errorf("%+v, %v", r, err)
	}
	got := contents(t, dir)
	if target, err := os.Readlink(sym); err != nil || target != "real" || got["real"] != "new" || got["a"] != "new" || got["b"] != "new" {
		t.Errorf("%v, %v", got, err)
	}
	if stat(t, a).Ino != stat(t, b).Ino {
		t.Error("the hard link was split")
	}
}

func TestWRIT04ReadOnlyFileIsAnError(t *testing.T) {
	_, e, dir := open(t)
	p := filepath.Join(dir, "f")
	put(t, p, "old")
	if err := os.Chmod(p, 0o444); err != nil {
		t.Fatal(err)
	}
	if _, err := e.WriteFile(t.Context(), p, []byte("new")); !errors.Is(err, fs.ErrPermission) || contents(t, dir)["f"] != "old" {
		t.Errorf("%v, %v", err, contents(t, dir))
	}
}

func TestWRIT03AttributesAreKept(t *testing.T) {
	_, e, dir := open(t)
	p := filepath.Join(dir, "f")
	put(t, p, "old")
	if err := unix.Setxattr(p, "user.note", []byte("kept"), 0); err != nil {
		t.Skip("no extended attributes here: ", err)
	}
	wantUID := stat(t, p).Uid
	if os.Geteuid() == 0 {
		wantUID = 12345
		if err := errors.Join(os.Chown(p, 12345, 54321), os.Chmod(p, 0o4755)); err != nil {
			t.Fatal(err)
		}
	}
	before := stat(t, p)
	if r, err := e.WriteFile(t.Context(), p, []byte("new")); err != nil || r.InPlace != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	after := stat(t, p)
	if after.Uid != wantUID || after.Gid != before.Gid || after.Mode != before.Mode || after.Ino == before.Ino {
		t.Errorf("before %+v, after %+v", before, after)
	}
	value := make([]byte, 10)
	if n, err := unix.Getxattr(p, "user.note", value); err != nil || string(value[:n]) != "kept" {
		t.Errorf("%q, %v", value, err)
	}
}

// tmpfs mounts a small file system.
func tmpfs(t testing.TB, size string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		if os.Geteuid() == 0 && !errors.Is(err, unix.EPERM) {
			t.Fatal(err)
		}
		t.Skip("mounting is not allowed: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestWRIT01FullDiskKeepsTheOldBytes(t *testing.T) {
	for _, unnamed := range []bool{true, false} {
		for _, hard := range []bool{false, true} {
			dir := tmpfs(t, "1m")
			w, e, _ := open(t, func(o *Options) { o.Dir = dir })
			if !unnamed {
				named(w)
			}
			p := filepath.Join(dir, "f")
			old := strings.Repeat("o", 600<<10)
			put(t, p, old)
			if hard {
				if err := os.Link(p, filepath.Join(dir, "g")); err != nil {
					t.Fatal(err)
				}
			}
			_, err := e.WriteFile(t.Context(), p, bytes.Repeat([]byte("n"), 1500<<10))
			if !errors.Is(err, ops.ErrNoSpace) || ops.KindOf(err) != "" || !strings.Contains(err.Error(), "of 1536000 bytes") {
				t.Errorf("%v", err)
			}
			if contents(t, dir)["f"] != old {
				t.Error("the old bytes are gone")
			}
			noTemp(t, dir)
			if _, err := e.WriteFile(t.Context(), p, []byte("small")); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		}
	}
}

func TestReadOnlyFileSystem(t *testing.T) {
	dir := tmpfs(t, "1m")
	put(t, filepath.Join(dir, "f"), "old")
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	_, e, _ := open(t, func(o *Options) { o.Dir = dir })
	for _, p := range []string{"f", "new"} {
		if _, err := e.WriteFile(t.Context(), filepath.Join(dir, p), nil); !errors.Is(err, ops.ErrReadOnly) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// asNobody runs a test again as an unprivileged user if this one is not; it
// reports whether it did. The test then runs in a folder that this user prepared.
func asNobody(t *testing.T, prepare ...func(dir string)) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	rerun(t, "", &syscall.Credential{Uid: nobody, Gid: nobody}, prepare...)
	return true
}

const nobody = 65534

// asProgram runs a test again below a shell that has done something first, if
// this one is not that; it reports whether it did.
func asProgram(t *testing.T, before string) bool {
	t.Helper()
	if slices.Contains(os.Args, againFlag) {
		return false
	}
	rerun(t, before, nil)
	return true
}

const againFlag = "-test.v=true"

func rerun(t *testing.T, before string, as *syscall.Credential, prepare ...func(dir string)) {
	t.Helper()
	dir, err := os.MkdirTemp("", "nobody") //nolint:usetesting // t.TempDir is below a private folder
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := errors.Join(os.WriteFile(program, self, 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, p := range prepare {
		p(dir)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", before+"\nexec \"$0\" \"$@\"", program, "-test.run=^"+t.Name()+"$", againFlag)
	cmd.WaitDelay = time.Second
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("again, %s: %v\n%s", before, err, out)
	}
}

func TestWRIT03FolderThatTakesNoFile(t *testing.T) {
	if asNobody(t) {
		return
	}
	_, e, dir := open(t)
	p := filepath.Join(dir, "sub", "f")
	put(t, p, "old content")
	if err := os.Chmod(filepath.Dir(p), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(p), 0o755) })
	r, err := e.WriteFile(t.Context(), p, []byte("new"))
	if err != nil || r.InPlace == "" || contents(t, filepath.Dir(p))["f"] != "new" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := e.WriteFile(t.Context(), filepath.Join(dir, "sub", "other"), nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a new file: %v", err)
	}
	if err := os.Chmod(p, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := e.ReadFile(t.Context(), p, 0); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("read: %v", err)
	}
}

// TestWRIT04OwnerIsKeptOrTheFileStays writes somebody else's file that one may
// write, in a folder that takes new files: a rename would change its owner.
func TestWRIT04OwnerIsKeptOrTheFileStays(t *testing.T) {
	if asNobody(t, func(dir string) {
		p := filepath.Join(dir, "theirs")
		check(t, os.WriteFile(p, []byte("old content"), 0o664))
		check(t, os.Chown(p, 0, nobody))
		check(t, os.Chmod(p, 0o664))
	}) {
		return
	}
	cwd, err := os.Getwd()
	check(t, err)
	p := filepath.Join(cwd, "theirs")
	if _, err := os.Lstat(p); err != nil {
		t.Skip("only the superuser can prepare this")
	}
	before := stat(t, p)
	_, e, _ := open(t, func(o *Options) { o.Dir = cwd })
	r, err := e.WriteFile(t.Context(), p, []byte("new"))
	after := stat(t, p)
	if err != nil || r.InPlace == "" || contents(t, cwd)["theirs"] != "new" {
		t.Errorf("%+v, %v", r, err)
	}
	if before.Ino != after.Ino || before.Uid != after.Uid || before.Gid != after.Gid || before.Mode != after.Mode {
		t.Errorf("before %+v, after %+v", before, after)
	}
	noTemp(t, cwd)
}

// TestWRIT01EveryKindOfFullDisk fills a file system to its last block.
func TestWRIT01EveryKindOfFullDisk(t *testing.T) {
	dir := tmpfs(t, "256k")
	w, e, _ := open(t, func(o *Options) { o.Dir = dir })
	old := strings.Repeat("o", 100<<10)
	put(t, filepath.Join(dir, "f"), old)
	f, err := os.Create(filepath.Join(dir, "filler"))
	check(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if cerr := f.Close(); cerr != nil || !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(cerr, err)
	}
	for _, unnamed := range []bool{true, false} {
		if !unnamed {
			named(w)
		}
		for _, size := range []int{1, 4096, 100 << 10, 200 << 10} {
			for _, name := range []string{"f", "new"} {
				start := time.Now()
				_, err := e.WriteFile(t.Context(), filepath.Join(dir, name), bytes.Repeat([]byte("n"), size))
				if !errors.Is(err, ops.ErrNoSpace) || !strings.Contains(err.Error(), fmt.Sprintf("of %d bytes", size)) || !strings.Contains(err.Error(), "are free") {
					t.Errorf("%s, %d bytes: %v", name, size, err)
				}
				if took := time.Since(start); took > 5*time.Second {
					t.Errorf("took %v", took)
				}
			}
		}
		got := contents(t, dir)
		if _, made := got["new"]; got["f"] != old || made {
			t.Error("something changed")
		}
		noTemp(t, dir)
	}
}

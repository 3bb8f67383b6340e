//go:build linux

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/ops"
)

func put(t testing.TB, path, data string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, target, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
}

// every runs each operation that takes a path and returns their errors by name.
func every(t testing.TB, e engine, path string) map[string]error {
	t.Helper()
	ctx := t.Context()
	_, read := e.ReadFile(ctx, path, 0)
	_, window := e.ReadWindow(ctx, path, ops.WindowRequest{Offset: 1, Limit: 1, MaxBytes: 10})
	f, open := e.Open(ctx, path)
	if f != nil {
		_ = f.Close()
	}
	_, stat := e.Stat(ctx, path)
	_, canonical := e.Canonical(ctx, path)
	_, write := e.WriteFile(ctx, path, []byte("new"))
	_, exec := e.Exec(ctx, ops.Command{Script: "true", Dir: path}, nil)
	_, search := e.Search(ctx, ops.SearchRequest{Root: path, Path: path, Pattern: "x", MaxLine: 10}, func(ops.SearchLine) bool { return true })
	_, glob := e.Glob(ctx, ops.GlobRequest{Root: path, Path: path, Pattern: "*"}, func(string) bool { return true })
	return map[string]error{
		"access": e.Access(ctx, path), "read": read, "window": window, "open": open, "stat": stat, "canonical": canonical,
		"write": write, "mkdir": e.MkdirAll(ctx, path), "exec": exec, "search": search, "glob": glob,
		"readdir": e.ReadDir(ctx, path, func(fs.DirEntry) bool { return true }),
	}
}

func TestCONF01to05NothingOutsideIsReached(t *testing.T) {
	_, e, dir := open(t, func(o *Options) {
		o.Dir = filepath.Join(o.Dir, "app")
		if err := os.Mkdir(o.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
	})
	app, sibling := filepath.Join(dir, "app"), filepath.Join(dir, "app-evil")
	put(t, filepath.Join(sibling, "secret"), "s")
	link(t, sibling, filepath.Join(app, "abs"))
	link(t, "../app-evil", filepath.Join(app, "rel"))
	link(t, filepath.Join(sibling, "secret"), filepath.Join(app, "file"))
	link(t, filepath.Join(sibling, "new"), filepath.Join(app, "dangling"))
	link(t, "dangling", filepath.Join(app, "chain"))
	link(t, "..", filepath.Join(app, "up"))
	link(t, "/proc/self/root", filepath.Join(app, "magic"))
	for _, p := range []string{
		sibling, sibling + "/secret", app + "/../app-evil/secret", app + "/abs", app + "/abs/", app + "/abs/secret", app + "/abs/missing",
		app + "/rel/secret", app + "/rel/", app + "/file", app + "/file/", app + "/dangling", app + "/dangling/", app + "/chain",
		app + "/up", app + "/up/app-evil/secret", app + "/magic/etc/passwd", "/", "/etc/passwd", app + "/abs/missing/deeper", app + "/chain/x",
	} {
		for op, err := range every(t, e, p) {
			var perr *fs.PathError
			if !errors.Is(err, ops.ErrOutside) || !errors.As(err, &perr) || perr.Path != p {
				t.Errorf("%s %s: %v", op, p, err)
			}
		}
	}
	want := map[string]string{"secret": "s"}
	if got := contents(t, sibling); !cmp.Equal(got, want) {
		t.Errorf("outside: %s", cmp.Diff(want, got))
	}
}

// contents reads a whole folder.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			data = []byte(entry.Type().String())
		}
		got[entry.Name()] = string(data)
	}
	return got
}

func TestCONF02LinksThatLeadInside(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(real, "ws/d/f"), "x")
	put(t, filepath.Join(real, "extra/g"), "x")
	ws := filepath.Join(real, "ws")
	link(t, filepath.Join(ws, "d"), filepath.Join(ws, "abs"))
	link(t, "../../ws/d", filepath.Join(ws, "d/climb"))
	link(t, ws, filepath.Join(real, "alias"))
	link(t, filepath.Join(real, "alias/d"), filepath.Join(ws, "byalias"))
	link(t, filepath.Join(real, "extra"), filepath.Join(ws, "extra"))
	link(t, "new", filepath.Join(ws, "dangling"))
	link(t, "b", filepath.Join(ws, "a"))
	link(t, "a", filepath.Join(ws, "b"))
	put(t, filepath.Join(ws, "..name"), "x")
	for i := range 42 {
		link(t, fmt.Sprintf("hop%d", i+1), filepath.Join(ws, fmt.Sprintf("hop%d", i)))
	}
	put(t, filepath.Join(ws, "hop42"), "x")
	alias := filepath.Join(real, "alias")
	_, e, _ := open(t, func(o *Options) {
		o.Dir = alias
		o.ExtraRoots = []ops.Root{{Path: filepath.Join(real, "extra"), ReadOnly: true}}
	})
	for p, canonical := range map[string]string{
		alias + "/d/f": ws + "/d/f", ws + "/d/f": ws + "/d/f", alias + "/abs/f": ws + "/d/f", ws + "/d/climb/f": ws + "/d/f",
		ws + "/byalias/f": ws + "/d/f", ws + "/extra/g": real + "/extra/g", ws + "/..name": ws + "/..name", ws + "/hop5": ws + "/hop42",
		ws + "/dangling": ws + "/new", ws + "/abs/no/more": ws + "/d/no/more",
	} {
		if got, err := e.Canonical(t.Context(), p); err != nil || got != canonical {
			t.Errorf("canonical %s is %s, %v", p, got, err)
		}
		if strings.Contains(p, "dangling") || strings.Contains(p, "no") {
			continue
		}
		if data, err := e.ReadFile(t.Context(), p, 0); err != nil || string(data) != "x" {
			t.Errorf("read %s: %q, %v", p, data, err)
		}
	}
	for _, p := range []string{ws + "/a", ws + "/hop0", ws + "/a/x"} {
		if _, err := e.ReadFile(t.Context(), p, 0); !errors.Is(err, ops.ErrLoop) {
			t.Errorf("read %s: %v", p, err)
		}
		if _, err := e.WriteFile(t.Context(), p, nil); !errors.Is(err, ops.ErrLoop) {
			t.Errorf("write %s: %v", p, err)
		}
	}
	if r, err := e.WriteFile(t.Context(), ws+"/dangling", []byte("n")); err != nil || r.Path != ws+"/new" || !r.Created {
		t.Errorf("write through a dangling link: %+v, %v", r, err)
	}
	for _, p := range []string{ws + "/extra/g", real + "/extra/h"} {
		if _, err := e.WriteFile(t.Context(), p, nil); !errors.Is(err, ops.ErrReadOnly) {
			t.Errorf("write %s: %v", p, err)
		}
	}
	if _, out, err := run(t, t.Context(), e, ops.Command{Script: "pwd -P", Dir: ws + "/byalias"}); err != nil || out != ws+"/d\n" {
		t.Errorf("command in a link: %q, %v", out, err)
	}
}

func TestREAD03SpecialFilesNeverBlock(t *testing.T) {
	_, e, dir := open(t)
	fifo, sock := filepath.Join(dir, "fifo"), filepath.Join(dir, "sock")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: sock}); err != nil {
		t.Skip("the path is too long for a socket: ", err)
	}
	_, free, _ := open(t, func(o *Options) { o.Unconfined = true })
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, c := range []struct {
			e    engine
			path string
			want error
		}{{e, fifo, ops.ErrNotRegular}, {e, sock, ops.ErrNotRegular}, {e, dir, ops.ErrIsDir}, {free, "/dev/zero", ops.ErrNotRegular}, {free, "/dev/tty", ops.ErrNotRegular}} {
			for op, err := range every(t, c.e, c.path) {
				switch op {
				case "access", "read", "window", "open", "write":
					if !errors.Is(err, c.want) {
						t.Errorf("%s %s: %v", op, c.path, err)
					}
				}
			}
		}
		if data, err := free.ReadFile(t.Context(), "/proc/self/status", 0); err != nil || !bytes.Contains(data, []byte("Pid:")) {
			t.Errorf("a file that claims size 0: %q, %v", data, err)
		}
		if win, err := free.ReadWindow(t.Context(), "/proc/self/status", ops.WindowRequest{Offset: 1, Limit: 1, MaxBytes: 1000}); err != nil || win.TotalLines < 5 {
			t.Errorf("its window: %+v, %v", win, err)
		}
		if data, err := free.ReadFile(t.Context(), "/sys/kernel/mm/transparent_hugepage/enabled", 0); !errors.Is(err, fs.ErrNotExist) && (err != nil || len(data) == 0) {
			t.Errorf("a file that claims a page: %q, %v", data, err)
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("something blocks")
	}
}

func TestReadFileLimits(t *testing.T) {
	_, e, dir := open(t)
	p := filepath.Join(dir, "f")
	put(t, p, "12345")
	for limit, want := range map[int64]error{0: nil, -1: nil, 5: nil, 6: nil, 4: ops.ErrTooLarge, 1: ops.ErrTooLarge} {
		if data, err := e.ReadFile(t.Context(), p, limit); !errors.Is(err, want) || err == nil && string(data) != "12345" {
			t.Errorf("limit %d: %q, %v", limit, data, err)
		}
	}
	if _, err := e.ReadFile(t.Context(), filepath.Join(dir, "no"), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := e.ReadFile(t.Context(), p+"/x", 0); !errors.Is(err, ops.ErrNotDir) {
		t.Error(err)
	}
	if _, err := e.ReadFile(t.Context(), "relative", 0); err == nil {
		t.Error("a relative path was taken")
	}
	f, err := e.Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// windowOf is the plain definition of a window.
func windowOf(data []byte, req ops.WindowRequest) ops.Window {
	win := ops.Window{Size: int64(len(data)), Head: data[:min(len(data), ops.WindowHead)]}
	closed := false
	for _, line := range bytes.SplitAfter(data, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		win.TotalLines++
		switch {
		case win.TotalLines < req.Offset || closed || win.Lines == req.Limit:
		case len(win.Data)+len(line) <= req.MaxBytes:
			win.Data = append(win.Data, line...)
			win.Lines++
		default:
			closed = true
			if win.Lines == 0 {
				win.LineBytes = int64(len(line))
			}
		}
	}
	win.Invalid = !bytes.Equal(bytes.ToValidUTF8(win.Data, nil), win.Data)
	return win
}

func TestREAD04WindowAgreesWithItsDefinition(t *testing.T) {
	_, e, dir := open(t)
	p := filepath.Join(dir, "f")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		var b bytes.Buffer
		for range r.IntN(12) {
			n := r.IntN(20)
			if r.IntN(12) == 0 {
				n = r.IntN(3 * readBlock)
			}
			b.Write(bytes.Repeat([]byte{byte('a' + r.IntN(20))}, n))
			if r.IntN(9) == 0 {
				b.WriteByte(0xff)
			}
			if r.IntN(8) > 0 {
				b.WriteByte('\n')
			}
		}
		put(t, p, b.String())
		req := ops.WindowRequest{Offset: 1 + r.IntN(8), Limit: 1 + r.IntN(8), MaxBytes: 1 + r.IntN(60)}
		if r.IntN(3) == 0 {
			req.MaxBytes = 1 + r.IntN(2*readBlock)
		}
		got, err := e.ReadWindow(t.Context(), p, req)
		if err != nil {
			t.Fatal(err)
		}
		want := windowOf(b.Bytes(), req)
		if !bytes.Equal(got.Data, want.Data) || !bytes.Equal(got.Head, want.Head) {
			t.Fatalf("%+v of %d bytes: data or head differ", req, b.Len())
		}
		got.Data, got.Head, want.Data, want.Head = nil, nil, nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v of %d bytes: %s", req, b.Len(), diff)
		}
	}
}

func TestREAD01HugeFileInLittleMemory(t *testing.T) {
	_, e, dir := open(t)
	p := filepath.Join(dir, "sparse")
	put(t, p, "first\n")
	if err := os.Truncate(p, 512<<20); err != nil {
		t.Fatal(err)
	}
	per := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			win, err := e.ReadWindow(b.Context(), p, ops.WindowRequest{Offset: 1, Limit: 1, MaxBytes: 100})
			if err != nil || string(win.Data) != "first\n" || win.TotalLines != 2 {
				b.Fatalf("%q, %d lines, %v", win.Data, win.TotalLines, err)
			}
		}
	})
	if n := per.AllocedBytesPerOp(); n > 4*readBlock {
		t.Errorf("allocates %d bytes", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.ReadWindow(ctx, p, ops.WindowRequest{Offset: 1, Limit: 1, MaxBytes: 1}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLS01EverythingIsListed(t *testing.T) {
	_, e, dir := open(t)
	put(t, filepath.Join(dir, "file"), "")
	put(t, filepath.Join(dir, "sub/x"), "")
	link(t, "/nowhere", filepath.Join(dir, "dangling"))
	link(t, "loop", filepath.Join(dir, "loop"))
	put(t, filepath.Join(dir, "new\nline\xff"), "")
	put(t, filepath.Join(dir, tempPrefix+"0123456789abcdef"+tempSuffix), "")
	put(t, filepath.Join(dir, ".piremote-notes.tmp"), "")
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0); err != nil {
		t.Fatal(err)
	}
	got := map[string]fs.FileMode{}
	if err := e.ReadDir(t.Context(), dir, func(d fs.DirEntry) bool { got[d.Name()] = d.Type(); return true }); err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{
		"file": 0, "sub": fs.ModeDir, "dangling": fs.ModeSymlink, "loop": fs.ModeSymlink, "new\nline\xff": 0,
		"fifo": fs.ModeNamedPipe, ".piremote-notes.tmp": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	n := 0
	if err := e.ReadDir(t.Context(), dir, func(fs.DirEntry) bool { n++; return false }); err != nil || n != 1 {
		t.Errorf("LS04: %d entries after false, %v", n, err)
	}
	if err := e.ReadDir(t.Context(), filepath.Join(dir, "file"), nil); !errors.Is(err, ops.ErrNotDir) {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), "")
	for _, o := range []Options{{}, {Dir: filepath.Join(dir, "no")}, {Dir: filepath.Join(dir, "file")}, {Dir: dir, Root: filepath.Join(dir, "no")}, {Dir: dir, Root: t.TempDir()}} {
		w, err := Open(t.Context(), o)
		if ops.KindOf(err) != ops.KindUnavailable || !strings.Contains(err.Error(), o.Dir) {
			t.Errorf("%+v: %v, %v", o, w, err)
		}
	}
}

func TestAtGivesAnotherView(t *testing.T) {
	w, _, dir := open(t)
	put(t, filepath.Join(dir, "sub/f"), "x")
	put(t, filepath.Join(dir, "g"), "x")
	sub := filepath.Join(dir, "sub")
	set, err := w.Set().At(sub, sub)
	if err != nil || set.Target.Dir != sub || set.Target.Root != sub {
		t.Fatalf("%+v, %v", set.Target, err)
	}
	if _, err := set.Read.ReadFile(t.Context(), filepath.Join(sub, "f"), 0); err != nil {
		t.Error(err)
	}
	if _, err := set.Read.ReadFile(t.Context(), filepath.Join(dir, "g"), 0); !errors.Is(err, ops.ErrOutside) {
		t.Error(err)
	}
	again, err := w.Set().At(sub, sub)
	if err != nil || again.Mutations != set.Mutations {
		t.Errorf("the same view has another queue: %v", err)
	}
}

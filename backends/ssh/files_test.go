//go:build linux

package ssh

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/tools/ops"
)

// fileServer is a real server without a shell, so that nothing but SFTP works.
func fileServer(t *testing.T) *servers.SSHD {
	t.Helper()
	return servers.StartSSHD(t, servers.SSHDOptions{Config: []string{"ForceCommand internal-sftp"}})
}

func TestFilesAsTheContractSays(t *testing.T) {
	g := openTarget(t, fileServer(t), nil)
	ctx, set := t.Context(), g.Set()
	t.Run("read", func(t *testing.T) { testRead(ctx, t, g, set) })
	t.Run("write", func(t *testing.T) { testWrite(ctx, t, g, set) })
	t.Run("attributes", func(t *testing.T) { testAttributes(ctx, t, g, set) })
	t.Run("list", func(t *testing.T) { testList(ctx, t, g, set) })
	t.Run("confinement", func(t *testing.T) { testConfinement(ctx, t, g, set) })
}

func TestFilesWithAShellBeside(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	for _, by := range []FilesBy{FilesBoth, FilesSFTP, FilesShell} {
		t.Run(string(by), func(t *testing.T) {
			g := openTarget(t, s, func(o *Options) { o.Files = by })
			ctx, set := t.Context(), g.Set()
			p := g.put(t, "file", "one\ntwo\nthree\n", 0o640)
			w, ok := set.Read.(ops.WindowReader)
			if !ok {
				t.Fatal("no window reader")
			}
			win, err := w.ReadWindow(ctx, p, ops.WindowRequest{Offset: 2, Limit: 1, MaxBytes: 100})
			if err != nil || string(win.Data) != "two\n" || win.TotalLines != 3 {
				t.Errorf("window %+v, %v", win, err)
			}
			must(t, os.Link(p, filepath.Join(g.dir, "second")))
			report, err := set.Write.WriteFile(ctx, p, []byte("both names"))
			if got := string(must2(t, filepath.Join(g.dir, "second"))); err != nil || got != "both names" || report.InPlace == "" {
				t.Errorf("WRIT hard links: second name holds %q, report %+v, %v", got, report, err)
			}
			if got, err := set.Read.ReadFile(ctx, p, 0); err != nil || string(got) != "both names" {
				t.Errorf("%q, %v", got, err)
			}
			_, err = set.Read.ReadFile(ctx, g.outside+"/x", 0)
			wantIs(t, "outside", err, ops.ErrOutside)
			out, exit, err := g.run(ctx, "head -c 100000 /dev/zero | tr '\\0' 'x'")
			if err != nil || len(out) != 100000 {
				t.Errorf("%d bytes, %+v, %v", len(out), exit, err)
			}
			spilled, err := set.Bash.Exec(ctx, ops.Command{Script: "seq 1 9000", Dir: g.dir, Spill: true}, func(ops.Chunk) {})
			if err != nil || spilled.SpillPath == "" {
				t.Fatalf("%+v, %v", spilled, err)
			}
			if got, err := set.Read.ReadFile(ctx, spilled.SpillPath, 0); err != nil || !strings.HasSuffix(string(got), "\n9000\n") {
				t.Errorf("the full output: %d bytes, %v", len(got), err)
			}
		})
	}
}

func testRead(ctx context.Context, t *testing.T, g *target, set ops.Set) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 4096, 32767, 32768, 32769, 300_000, 5 << 20} {
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		p := g.put(t, "f", string(want), 0o644)
		got, err := set.Read.ReadFile(ctx, p, 0)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %v, equal %v", size, err, bytes.Equal(got, want))
		}
		if _, err := set.Read.ReadFile(ctx, p, int64(size)-1); size > 1 {
			wantIs(t, "over the limit", err, ops.ErrTooLarge)
		}
		if size > 0 {
			if _, err := set.Read.ReadFile(ctx, p, int64(size)); err != nil {
				t.Errorf("at the limit of %d: %v", size, err)
			}
		}
	}
	must(t, syscall.Mkfifo(filepath.Join(g.dir, "fifo"), 0o644))
	must(t, os.Symlink("f", filepath.Join(g.dir, "to-f")))
	must(t, os.Symlink("loop", filepath.Join(g.dir, "loop")))
	for _, c := range []struct {
		name string
		want error
	}{
		{"none", fs.ErrNotExist},
		{".", ops.ErrIsDir},
		{"fifo", ops.ErrNotRegular},
		{"f/x", ops.ErrNotDir},
		{"loop", ops.ErrLoop},
		{"none/none", fs.ErrNotExist},
		{"to-f", nil},
		{"./to-f/", nil},
	} {
		wantIs(t, "Access "+c.name, set.Read.Access(ctx, g.dir+"/"+c.name), c.want)
		_, err := set.Read.ReadFile(ctx, g.dir+"/"+c.name, 0)
		wantIs(t, "ReadFile "+c.name, err, c.want)
	}
	_, err := set.Read.ReadFile(ctx, "/proc/self/status", 0)
	wantIs(t, "outside", err, ops.ErrOutside)
}

func testWrite(ctx context.Context, t *testing.T, g *target, set ops.Set) {
	for _, size := range []int{0, 10, 32768, 40000, 6 << 20} {
		want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		p := filepath.Join(g.dir, "new")
		_ = os.Remove(p)
		for _, created := range []bool{true, false} {
			report, err := set.Write.WriteFile(ctx, p, want)
			report.Version = ops.Version{}
			if diff := cmp.Diff(ops.WriteReport{Path: p, Created: created}, report); err != nil || diff != "" {
				t.Errorf("%d bytes: %v %s", size, err, diff)
			}
			if got, err := os.ReadFile(p); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes: %v, equal %v", size, err, bytes.Equal(got, want))
			}
		}
	}
	must(t, set.Write.MkdirAll(ctx, g.dir+"/a/b/c"))
	must(t, set.Write.MkdirAll(ctx, g.dir+"/a/b/c"))
	g.put(t, "plain", "old", 0o644)
	wantIs(t, "MkdirAll below a file", set.Write.MkdirAll(ctx, g.dir+"/plain/x"), ops.ErrNotDir)
	wantIs(t, "MkdirAll of a file", set.Write.MkdirAll(ctx, g.dir+"/plain"), ops.ErrNotDir)
	for name, want := range map[string]error{"none/f": fs.ErrNotExist, "a": ops.ErrIsDir, ".": ops.ErrIsDir, "plain/x": ops.ErrNotDir} {
		_, err := set.Write.WriteFile(ctx, g.dir+"/"+name, []byte("x"))
		wantIs(t, "WriteFile "+name, err, want)
	}
	ro := g.put(t, "ro", "old", 0o444)
	_, err := set.Write.WriteFile(ctx, ro, []byte("x"))
	wantIs(t, "WriteFile without write permission", err, fs.ErrPermission)
	if got, _ := os.ReadFile(ro); string(got) != "old" {
		t.Errorf("read-only file is %q", got)
	}
}

func testAttributes(ctx context.Context, t *testing.T, g *target, set ops.Set) {
	for _, mode := range []os.FileMode{0o600, 0o755, 0o664} {
		p := g.put(t, "mode", "old", mode)
		_, err := set.Write.WriteFile(ctx, p, []byte("new"))
		must(t, err)
		info, err := os.Stat(p)
		must(t, err)
		if info.Mode().Perm() != mode {
			t.Errorf("mode %v became %v", mode, info.Mode())
		}
	}
	if os.Geteuid() == 0 {
		p := g.put(t, "owned", "old", 0o640)
		must(t, os.Chown(p, 1234, 4321))
		_, err := set.Write.WriteFile(ctx, p, []byte("new"))
		must(t, err)
		info, err := os.Stat(p)
		must(t, err)
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 1234 || st.Gid != 4321 || info.Mode().Perm() != 0o640 {
			t.Errorf("owner and mode became %+v", info.Sys())
		}
	}
	p := g.put(t, "target", "old", 0o644)
	must(t, os.Symlink("target", filepath.Join(g.dir, "link")))
	report, err := set.Write.WriteFile(ctx, filepath.Join(g.dir, "link"), []byte("by link"))
	must(t, err)
	if to, err := os.Readlink(filepath.Join(g.dir, "link")); err != nil || to != "target" || report.Path != p {
		t.Errorf("link %q, %v, report %+v", to, err, report)
	}
}

func testList(ctx context.Context, t *testing.T, g *target, set ops.Set) {
	must(t, os.MkdirAll(filepath.Join(g.dir, "ls/sub"), 0o755))
	must(t, os.Symlink("sub", filepath.Join(g.dir, "ls/link")))
	odd := "new\nline \\ \xff 'q'"
	for _, n := range []string{"file", odd, ".hidden"} {
		g.put(t, "ls/"+n, "x", 0o644)
	}
	got := map[string]fs.FileMode{}
	must(t, set.Ls.ReadDir(ctx, g.dir+"/ls", func(e fs.DirEntry) bool { got[e.Name()] = e.Type(); return true }))
	want := map[string]fs.FileMode{"sub": fs.ModeDir, "link": fs.ModeSymlink, "file": 0, odd: 0, ".hidden": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	n := 0
	must(t, set.Ls.ReadDir(ctx, g.dir+"/ls", func(fs.DirEntry) bool { n++; return false }))
	if n != 1 {
		t.Errorf("%d entries after the first refusal", n)
	}
	wantIs(t, "ReadDir of a file", set.Ls.ReadDir(ctx, g.dir+"/ls/file", func(fs.DirEntry) bool { return true }), ops.ErrNotDir)
	info, err := set.Ls.Stat(ctx, g.dir+"/ls/link")
	if err != nil || !info.IsDir() || info.Name() != "link" {
		t.Errorf("stat of a link: %v, %v", info, err)
	}
	if got, err := set.Read.ReadFile(ctx, g.dir+"/ls/"+odd, 0); err != nil || string(got) != "x" {
		t.Errorf("odd name: %q, %v", got, err)
	}
}

func testConfinement(ctx context.Context, t *testing.T, g *target, set ops.Set) {
	secret := filepath.Join(g.outside, "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o644))
	g.put(t, "in/file", "inside", 0o644)
	for name, to := range map[string]string{
		"leak": g.outside, "leak2": secret, "up": "../ws-out/secret", "dangling": g.outside + "/new", "chain": "dangling",
		"abs-in": g.dir + "/in/file", "round": "../ws/in/file", "dots": "in/../in/file",
	} {
		must(t, os.Symlink(to, filepath.Join(g.dir, name)))
	}
	for _, p := range []string{
		secret, g.dir + "-out/secret", g.dir + "/../ws-out/secret", g.dir + "/leak/secret", g.dir + "/leak2", g.dir + "/up", g.dir + "/leak/none",
		g.dir + "/leak/", "/",
	} {
		_, err := set.Read.ReadFile(ctx, p, 0)
		wantIs(t, "CONF-01/02 read "+p, err, ops.ErrOutside)
		_, err = set.Ls.Stat(ctx, p)
		wantIs(t, "CONF-02 stat "+p, err, ops.ErrOutside)
	}
	for _, p := range []string{"/leak/x", "/dangling", "/chain", "/leak2"} {
		_, err := set.Write.WriteFile(ctx, g.dir+p, []byte("x"))
		wantIs(t, "CONF-03 write "+p, err, ops.ErrOutside)
	}
	wantIs(t, "mkdir", set.Write.MkdirAll(ctx, g.dir+"/leak/dir"), ops.ErrOutside)
	entries, err := os.ReadDir(g.outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
	for _, p := range []string{"/abs-in", "/round", "/dots"} {
		if got, err := set.Read.ReadFile(ctx, g.dir+p, 0); err != nil || string(got) != "inside" {
			t.Errorf("%s: %q, %v", p, got, err)
		}
		c, ok := set.Edit.(ops.Canonicalizer)
		if !ok {
			t.Fatal("no canonicalizer")
		}
		if got, err := c.Canonical(ctx, g.dir+p); err != nil || got != g.dir+"/in/file" {
			t.Errorf("canonical of %s: %q, %v", p, got, err)
		}
	}
}

func TestSearchAndGlobByTheShell(t *testing.T) {
	g := openTarget(t, servers.StartSSHD(t, servers.SSHDOptions{}), nil)
	g.put(t, "a/x.go", "package x\n// needle here\n", 0o644)
	g.put(t, "b/y.txt", "needle there\n", 0o644)
	s, ok := g.Set().Grep.(ops.Searcher)
	if !ok {
		t.Fatal("no searcher")
	}
	var got []string
	_, err := s.Search(t.Context(), ops.SearchRequest{Root: g.dir, Path: g.dir, Pattern: "needle", MaxLine: 500}, func(l ops.SearchLine) bool {
		got = append(got, l.Path)
		return true
	})
	if diff := cmp.Diff([]string{"a/x.go", "b/y.txt"}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	got = nil
	gl, ok := g.Set().Find.(ops.Globber)
	if !ok {
		t.Fatal("no globber")
	}
	_, err = gl.Glob(t.Context(), ops.GlobRequest{Root: g.dir, Path: g.dir, Pattern: "**/*.go"}, func(p string) bool { got = append(got, p); return true })
	if err != nil || !slices.Equal(got, []string{"a/x.go"}) {
		t.Errorf("glob %q, %v", got, err)
	}
}

func TestAtAnotherFolderAndRoot(t *testing.T) {
	g := openTarget(t, servers.StartSSHD(t, servers.SSHDOptions{}), nil)
	g.put(t, "sub/f", "x", 0o644)
	set, err := g.Set().At(g.dir+"/sub", g.dir+"/sub")
	must(t, err)
	if got := set.Target; got.Dir != g.dir+"/sub" || got.Root != g.dir+"/sub" || !strings.HasSuffix(got.Label, g.dir+"/sub") {
		t.Errorf("target %+v", got)
	}
	if got, err := set.Read.ReadFile(t.Context(), g.dir+"/sub/f", 0); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	_, err = set.Read.ReadFile(t.Context(), g.dir+"/other", 0)
	wantIs(t, "outside of the new root", err, ops.ErrOutside)
	_, err = g.Set().At(g.dir+"/none", g.dir)
	wantKind(t, "a folder that is not there", err, ops.KindUnavailable, "none")
}

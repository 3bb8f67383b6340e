package tools_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/opstest"
	"github.com/piremote/piremote/tools/tool"
)

// recorded returns the operations of b's workspace and what lists the calls.
func recorded(t *testing.T, b bench) (ops.Set, func() []string) {
	t.Helper()
	set, recorder := opstest.Record(b.memory)
	return set, func() []string {
		var list []string
		for _, c := range recorder.Calls() {
			list = append(list, string(c.Op)+" "+c.Subject)
		}
		return list
	}
}

func TestFIND04HiddenSegmentsThatAreNamedMatch(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{".github/workflows/ci.yml", ".github/workflows/.hidden.yml", ".env", ".git/config", "src/.config/a.yml"} {
		b.put(name, "on: push\n")
	}
	b.want("find", args{"pattern": ".github/workflows/*.yml"}, ".github/workflows/.hidden.yml\n.github/workflows/ci.yml")
	b.want("find", args{"pattern": "*.yml"}, ".github/workflows/.hidden.yml\n.github/workflows/ci.yml\nsrc/.config/a.yml")
	b.want("find", args{"pattern": ".env"}, ".env")
	b.want("find", args{"pattern": "src/.config/*"}, "src/.config/a.yml")
	b.want("find", args{"pattern": "*", "path": ".github"}, "workflows/\nworkflows/.hidden.yml\nworkflows/ci.yml")
	b.want("grep", args{"pattern": "push", "path": ".github"}, "workflows/.hidden.yml:1: on: push\nworkflows/ci.yml:1: on: push")
	b.want("find", args{"pattern": "config"}, "No files found matching pattern") // not in .git unless asked for
	b.want("find", args{"pattern": ".git/config"}, ".git/config")
	b.want("grep", args{"pattern": "push", "path": ".git"}, "config:1: on: push")
}

// A link to a parent or to the root is an entry and no way to anywhere.
func TestFIND03LinksToParentsEnd(t *testing.T) {
	b := newBench(t)
	b.put("1/a.go", "needle\n")
	b.put("2/b.go", "needle\n")
	for p, target := range map[string]string{"/ws/1/loop": "../", "/ws/2/loop": "../", "/ws/root": "/", "/ws/self": "self"} {
		if err := b.memory.Symlink(target, p); err != nil {
			t.Fatal(err)
		}
	}
	set, calls := recorded(t, b)
	b.x = executor(t, set)
	b.want("find", args{"pattern": "**/*.go"}, "1/a.go\n2/b.go")
	b.want("grep", args{"pattern": "needle"}, "1/a.go:1: needle\n2/b.go:1: needle")
	lists := 0
	for _, c := range calls() {
		if strings.HasPrefix(c, "read dir ") {
			lists++
		}
	}
	if lists != 6 { // three folders, by two tools
		t.Errorf("%d folders were listed: %q", lists, calls())
	}
}

func TestLS01EveryNameIsListed(t *testing.T) {
	b := newBench(t)
	b.put("d/real.txt", "x")
	b.put("d/locked/file", "x")
	b.put("d/new\nline", "x")
	b.put("d/bad\xffname", "x")
	err := errors.Join(b.memory.Symlink("nowhere", "/ws/d/dangling"), b.memory.Symlink("loop", "/ws/d/loop"),
		b.memory.Symlink("real.txt", "/ws/d/link"), b.memory.Symlink("locked", "/ws/d/to-folder"),
		b.memory.Mkfifo("/ws/d/pipe"), b.memory.Chmod("/ws/d/locked", 0o444), b.memory.Mkdir("/ws/d/void", 0o755))
	if err != nil {
		t.Fatal(err)
	}
	b.want("ls", args{"path": "d"}, strings.Join([]string{
		`\:bad\xffname`, "dangling@", "link@", "locked/", "loop@", `\:new\x0aline`, "pipe", "real.txt", "to-folder@", "void/",
	}, "\n"))
	b.want("ls", args{"path": "d/void"}, "(empty directory)")
	b.fails("ls", args{"path": "d/dangling"}, "Cannot list d/dangling: it does not exist.")
	b.fails("ls", args{"path": "d/loop"}, "Cannot list d/loop: its symbolic links form a loop.")
	// What was shown can be given back, behind the folder and before more.
	for _, name := range []string{`d/\:bad\xffname`, `/ws/d/\:new\x0aline`} {
		if got, ok := b.do("read", args{"path": name}); !ok || got != "x" {
			t.Errorf("%s: %v %s", name, ok, got)
		}
	}
	b.put("e/\xff\xff/tail /f", "needle\n")
	b.want("find", args{"pattern": "f", "path": "e"}, `\:\xff\xff/tail /f`)
	b.want("ls", args{"path": `e/\:\xff\xff`}, `\:tail\x20/`)
	for _, name := range []string{`e/\:\xff\xff/tail /f`, `e/\:\xff\xff/\:tail\x20/f`, `\:e/\xff\xff/tail /f`, `/ws/e/\:\xff\xff/\:tail\x20/f`} {
		if got, ok := b.do("grep", args{"path": name, "pattern": "needle"}); !ok || got != "f:1: needle" {
			t.Errorf("%s: %v %s", name, ok, got)
		}
	}
}

// A folder that can't be listed is an error and never an empty one; one that
// breaks off is no shorter one.
func TestLS01UnreadableFolderIsNotEmpty(t *testing.T) {
	m := opstest.NewMemory(opstest.Options{})
	set := m.Set()
	for _, given := range []int{0, 3} {
		set.Ls = entries{count: given, err: &fs.PathError{Op: "readdir", Path: "/ws", Err: fs.ErrPermission}}
		b := bench{t, m, set, executor(t, set)}
		b.fails("ls", args{}, "Cannot list .: permission denied.")
	}
}

// Nothing but the listing itself is asked of the target: no link is followed.
func TestLS03OutsideTargetsAreNeverAsked(t *testing.T) {
	b := newBench(t)
	b.put("a", "x\n")
	if err := errors.Join(b.memory.Symlink("/etc/shadow", "/ws/link"), b.memory.Symlink("/etc", "/ws/folder")); err != nil {
		t.Fatal(err)
	}
	set, calls := recorded(t, b)
	b.x = executor(t, set)
	b.want("ls", args{}, "a\nfolder@\nlink@")
	b.want("find", args{"pattern": "*"}, "a\nfolder\nlink")
	b.want("grep", args{"pattern": "."}, "a:1: x")
	for _, c := range calls() {
		if !strings.HasSuffix(c, " /ws") && !strings.HasSuffix(c, " /ws/a") {
			t.Errorf("%s", c)
		}
	}
	if !slices.Contains(calls(), "read dir /ws") {
		t.Errorf("%q", calls())
	}
}

// entries is a folder with many files, or with no end, that was never in memory.
type entries struct {
	count int
	err   error
	each  func(i int)
}

func (e entries) Stat(context.Context, string) (fs.FileInfo, error) {
	return ops.FileInfo{FileMode: fs.ModeDir}, nil
}

func (e entries) ReadDir(_ context.Context, _ string, yield func(fs.DirEntry) bool) error {
	for i := 0; e.count < 0 || i < e.count; i++ {
		if e.each != nil {
			e.each(i)
		}
		if !yield(ops.DirEntry{EntryName: fmt.Sprintf("f%06d", (i*7919)%1_000_000)}) {
			return nil
		}
	}
	return e.err
}

func TestLS04MemoryFollowsTheLimit(t *testing.T) {
	m := opstest.NewMemory(opstest.Options{})
	set := m.Set()
	peak := uint64(0)
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	start := stats.HeapAlloc
	set.Ls = entries{count: 1_000_000, each: func(i int) {
		if i%100_000 == 99_999 {
			runtime.GC()
			runtime.ReadMemStats(&stats)
			peak = max(peak, stats.HeapAlloc)
		}
	}}
	b := bench{t, m, set, executor(t, set)}
	got, ok := b.do("ls", args{"limit": 100})
	lines := strings.Split(got, "\n")
	if !ok || len(lines) != 102 || lines[0] != "f000000" || lines[99] != "f000099" ||
		lines[101] != "[100 entries limit reached, the folder has 1000000. Use limit=200 for more, or use find with a pattern]" {
		t.Errorf("%v, %d lines, ends %q", ok, len(lines), lines[max(0, len(lines)-2):])
	}
	if grown := int64(peak) - int64(start); grown > 2<<20 {
		t.Errorf("%d bytes are held for 100 of a million entries", grown)
	}
}

func TestLS04AbortEndsAFolderWithoutEnd(t *testing.T) {
	m := opstest.NewMemory(opstest.Options{})
	set := m.Set()
	ctx, cancel := context.WithCancel(t.Context())
	set.Ls = entries{count: -1, each: func(i int) {
		if i == 10_000 {
			cancel()
		}
	}}
	o := executor(t, set).Do(ctx, call.Request{Name: "ls", Args: []byte(`{}`)}, nil)
	if !errors.Is(o.Err, context.Canceled) || strings.Contains(tool.TextOf(o.Result.Content), "f0") {
		t.Errorf("%v %.200q", o.Err, tool.TextOf(o.Result.Content))
	}
}

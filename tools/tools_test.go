package tools_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/opstest"
	"github.com/piremote/piremote/tools/textout"
	"github.com/piremote/piremote/tools/tool"
)

// bench is the tools on a workspace in memory.
type bench struct {
	t      *testing.T
	memory *opstest.Memory
	set    ops.Set
	x      *call.Executor
}

func newBench(t *testing.T) bench {
	t.Helper()
	m := opstest.NewMemory(opstest.Options{})
	t.Cleanup(func() { _ = m.Close() })
	return bench{t, m, m.Set(), executor(t, m.Set())}
}

func executor(t *testing.T, set ops.Set) *call.Executor {
	t.Helper()
	list, err := tools.New(set, nil, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return call.New(call.Options{Tools: func() []tool.Tool { return list }})
}

func (b bench) put(name, content string) {
	b.t.Helper()
	if err := b.memory.PutFile("/ws/"+name, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b bench) get(name string) string {
	b.t.Helper()
	data, err := b.memory.GetFile("/ws/" + name)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b bench) do(name string, args map[string]any) (string, bool) {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	o := b.x.Do(b.t.Context(), call.Request{ID: "1", Name: name, Args: raw}, nil)
	return tool.TextOf(o.Result.Content), !o.IsError
}

type args = map[string]any

func (b bench) want(name string, a args, want string) {
	b.t.Helper()
	if got, ok := b.do(name, a); !ok || got != want {
		b.t.Errorf("%s %v: ok %v\n%s\nwant\n%s", name, a, ok, got, want)
	}
}

func (b bench) fails(name string, a args, want string) {
	b.t.Helper()
	if got, ok := b.do(name, a); ok || !strings.Contains(got, want) {
		b.t.Errorf("%s %v: ok %v\n%s\nwant an error with\n%s", name, a, ok, got, want)
	}
}

func TestRead(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "one\ntwo\nthree\n")
	b.put("empty", "")
	b.put("big", strings.Repeat("line\n", 3000))
	b.put("long", strings.Repeat("x", 60_000)+"\nend\n")
	b.put("latin", "caf\xe9\n")
	b.put("bom", "\uFEFFkey: 1\n")
	b.put("prog", "\x7fELF\x02\x01\x01\x00\x00")
	b.put("@at", "at\n")
	b.put("sub/x", "x")
	b.want("read", args{"path": "a.txt"}, "one\ntwo\nthree\n")
	b.want("read", args{"path": "/ws/a.txt", "offset": 3}, "three\n")
	b.want("read", args{"path": "a.txt", "limit": 1}, "one\n\n[2 more lines in file. Use offset=2 to continue]")
	b.want("read", args{"path": "empty"}, "(empty file)")
	b.fails("read", args{"path": "empty", "offset": 2}, "Offset 2 is beyond end of file (0 lines total)")
	b.fails("read", args{"path": "a.txt", "offset": 200}, "Offset 200 is beyond end of file (3 lines total)")
	b.fails("read", args{"path": "a.txt", "offset": 0}, "offset: Expected at least 1")
	b.fails("read", args{"path": "a.txt", "offset": -1}, "offset: Expected at least 1")
	b.fails("read", args{"path": "none"}, "Cannot read none: it does not exist.")
	b.fails("read", args{"path": "sub"}, "Cannot read sub: it is a directory.")
	b.fails("read", args{"path": "../outside"}, "it is outside the workspace")
	b.want("read", args{"path": "@a.txt"}, "one\ntwo\nthree\n\n[@a.txt does not exist; this is a.txt]")
	b.want("read", args{"path": "@at"}, "at\n")
	b.want("read", args{"path": "latin"}, "caf\uFFFD\n\n[The file is not valid UTF-8; invalid bytes are shown as \uFFFD]")
	b.want("read", args{"path": "bom"}, "key: 1\n")
	if got, _ := b.do("read", args{"path": "big"}); !strings.HasSuffix(got, "line\n\n[Showing lines 1-2000 of 3000. Use offset=2001 to continue]") {
		t.Errorf("big: ...%s", got[max(0, len(got)-100):])
	}
	if got, _ := b.do("read", args{"path": "long"}); !strings.Contains(got, "Line 1 is 58.6KB, over the 50.0KB limit. Its start: sed -n '1p' /ws/long | head -c 51200") {
		t.Errorf("long: %s", got)
	}
	if got, ok := b.do("read", args{"path": "prog"}); !ok || !strings.HasPrefix(got, "[Binary file, not shown: ELF") {
		t.Errorf("prog: %s", got)
	}
	if err := b.memory.Mkfifo("/ws/pipe"); err != nil {
		t.Fatal(err)
	}
	b.fails("read", args{"path": "pipe"}, "it is not a regular file")
}

// Line windows chosen at the target and here are the same.
func TestReadWithoutWindows(t *testing.T) {
	b := newBench(t)
	set := b.memory.Set()
	all := set.Read
	opener, ok := all.(ops.Opener)
	if !ok {
		t.Fatal("the workspace in memory can't stream")
	}
	set.Read = struct{ ops.ReadOperations }{all}
	plain := bench{t, b.memory, set, executor(t, set)}
	set.Read = struct {
		ops.ReadOperations
		ops.Opener
	}{all, opener}
	stream := bench{t, b.memory, set, executor(t, set)}
	for name, content := range map[string]string{
		"a": "one\ntwo\nthree", "b": "", "c": "\n\n\n", "d": strings.Repeat("y", 30_000) + "\n" + strings.Repeat("z", 30_000) + "\nend\n",
		"e": strings.Repeat("0123456789\n", 7000), "f": strings.Repeat("w", 70_000),
	} {
		b.put(name, content)
		for _, offset := range []int{1, 2, 3, 4, 6000, 7000, 7001} {
			for _, limit := range []int{1, 2, 5000} {
				a := args{"path": name, "offset": offset, "limit": limit}
				got, ok1 := b.do("read", a)
				want, ok2 := plain.do("read", a)
				streamed, ok3 := stream.do("read", a)
				if got != want || got != streamed || ok1 != ok2 || ok1 != ok3 {
					t.Errorf("%v: %.200q, %.200q, %.200q", a, got, want, streamed)
				}
			}
		}
	}
}

func TestReadSpellings(t *testing.T) {
	b := newBench(t)
	b.put("caf\u00e9 \u2019x\u202fAM", "found\n")
	b.want("read", args{"path": "cafe\u0301 'x AM"}, "found\n\n[cafe\u0301 'x AM does not exist; this is /ws/caf\u00e9 \u2019x\u202fAM]")
	b.put("bad\xffname", "bytes\n")
	b.want("read", args{"path": textout.EscapeName("bad\xffname")}, "bytes\n")
}

func TestWrite(t *testing.T) {
	b := newBench(t)
	b.want("write", args{"path": "new/deep/a.txt", "content": "héllo"}, "Successfully wrote to new/deep/a.txt")
	if got := b.get("new/deep/a.txt"); got != "héllo" {
		t.Errorf("content %q", got)
	}
	b.want("write", args{"path": "@new/deep/a.txt", "content": "2"}, "Successfully wrote to new/deep/a.txt")
	b.want("write", args{"path": "@fresh", "content": "3"}, "Successfully wrote to @fresh")
	b.fails("write", args{"path": "new", "content": ""}, "Cannot write new: it is a directory.")
	b.fails("write", args{"path": "new/", "content": ""}, "it is a directory")
	b.fails("write", args{"path": "../x", "content": ""}, "outside the workspace")
	o := b.x.Do(t.Context(), call.Request{Name: "write", Args: json.RawMessage(`{"path":"s","content":"\ud83d"}`)}, nil)
	if !o.IsError || !strings.Contains(o.Err.Error(), `\ud83d`) {
		t.Errorf("WRIT-02: half a surrogate pair: %v", o.Err)
	}
	o = b.x.Do(t.Context(), call.Request{Name: "write", Args: json.RawMessage(`{"path":"s","content":"\ud83d\ude00 \\ud83d"}`)}, nil)
	if o.IsError || b.get("s") != "\U0001F600 \\ud83d" {
		t.Errorf("a whole surrogate pair: %v", o.Err)
	}
}

func TestEdit(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "alpha\nbeta\ngamma\n")
	b.want("edit", args{"path": "a.txt", "edits": []args{{"oldText": "beta", "newText": "BETA"}}}, "Successfully replaced 1 block in a.txt.")
	b.want("edit", args{"path": "a.txt", "edits": `[{"oldText":"alpha","newText":"A"},{"oldText":"gamma","newText":"G"}]`}, "Successfully replaced 2 blocks in a.txt.")
	b.want("edit", args{"path": "a.txt", "oldText": "BETA", "newText": "b"}, "Successfully replaced 1 block in a.txt.")
	b.want("edit", args{"path": "a.txt", "edits": args{"oldText": "G", "newText": "g"}}, "Successfully replaced 1 block in a.txt.")
	if got := b.get("a.txt"); got != "A\nb\ng\n" {
		t.Errorf("content %q", got)
	}
	b.fails("edit", args{"path": "none", "edits": []args{{"oldText": "a", "newText": "b"}}}, "Cannot edit none: it does not exist.")
	b.fails("edit", args{"path": "a.txt", "edits": []args{}}, "edits: Expected at least 1 items")
	b.fails("edit", args{"path": "a.txt", "edits": []args{{"oldText": "zz", "newText": "b"}}}, "a.txt")
}

func TestBash(t *testing.T) {
	b := newBench(t)
	b.want("bash", args{"command": "echo hi; echo err >&2"}, "hi\nerr")
	b.want("bash", args{"command": "true"}, "(no output)")
	b.fails("bash", args{"command": "echo out; exit 3"}, "out\n\nCommand exited with code 3")
	b.fails("bash", args{"command": "echo out; sleep 100 & sleep 100", "timeout": 0.2}, "out\n\nCommand timed out after 0.2 seconds")
	for _, timeout := range []any{0, -1, 1e12, "abc"} {
		b.fails("bash", args{"command": "true", "timeout": timeout}, "timeout")
	}
	b.want("bash", args{"command": "true", "timeout": "30"}, "(no output)")
	if n, _ := b.memory.ProcessesWith("100"); n != 0 {
		t.Errorf("%d programs are left", n)
	}
	got, ok := b.do("bash", args{"command": "seq 3000"})
	if !ok || !strings.Contains(got, "\n3000\n\n[Showing lines 1001-3000 of 3000. Full output: /tmp/piremote-") {
		t.Errorf("seq: ok %v ...%s", ok, got[max(0, len(got)-200):])
	}
	spill := got[strings.LastIndex(got, "/tmp/") : len(got)-1]
	got, ok = b.do("read", args{"path": spill, "limit": 2})
	if !ok || !strings.HasPrefix(got, "1\n2\n") {
		t.Errorf("TRUN-02: the spill file reads %s", got)
	}
	got, ok = b.do("bash", args{"command": "sleep 100 & echo started"})
	if !ok || !strings.HasPrefix(got, "started\n\n[Background processes are still running") {
		t.Errorf("background: %v %s", ok, got)
	}
}

func TestGrepFindLs(t *testing.T) {
	b := newBench(t)
	b.want("ls", args{}, "(empty directory)")
	b.put("src/a.go", "package a\n// TODO one\n")
	b.put("src/B.go", "package b\n")
	b.put(".gitignore", "out/\n")
	b.put("out/x.go", "// TODO hidden\n")
	if err := b.memory.Symlink("nowhere", "/ws/dangling"); err != nil {
		t.Fatal(err)
	}
	b.want("ls", args{}, ".gitignore\ndangling@\nout/\nsrc/")
	b.want("ls", args{"path": "src", "limit": 1}, "a.go\n\n[1 entries limit reached, the folder has 2. Use limit=2 for more, or use find with a pattern]")
	b.want("grep", args{"pattern": "TODO"}, "src/a.go:2: // TODO one")
	b.want("grep", args{"pattern": "todo", "ignoreCase": true, "context": 1, "path": "src"}, "a.go-1- package a\na.go:2: // TODO one")
	b.want("grep", args{"pattern": "nothing here"}, "No matches found")
	b.want("grep", args{"pattern": "TODO", "path": "out"}, "x.go:1: // TODO hidden")
	b.want("grep", args{"pattern": "package", "limit": 1}, "src/B.go:1: package b\n\n[1 matches limit reached. Use limit=2 for more, or refine the pattern]")
	b.fails("grep", args{"pattern": "("}, "missing closing )")
	b.fails("grep", args{"pattern": "x", "path": "none"}, "Cannot search none: it does not exist.")
	b.want("find", args{"pattern": "*.go"}, "src/B.go\nsrc/a.go")
	b.want("find", args{"pattern": "zz"}, "No files found matching pattern")
	b.fails("find", args{"pattern": "[a"}, "invalid glob")
	b.fails("ls", args{"path": "src/a.go"}, "is not a directory")
}

func TestNewSelects(t *testing.T) {
	set := opstest.NewMemory(opstest.Options{}).Set()
	set.Grep = nil
	list, err := tools.New(set, []string{"grep", "read", "bash"}, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range list {
		names = append(names, l.Info().Name)
	}
	if !slices.Equal(names, []string{"read", "bash"}) {
		t.Errorf("%v", names)
	}
	if _, err := tools.New(set, []string{"nope"}, tools.Options{}); err == nil {
		t.Error("an unknown name is accepted")
	}
}

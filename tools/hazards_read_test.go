package tools_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// streamed is a workspace that can stream one file and do nothing else.
type streamed struct{ open func() io.ReadCloser }

func (s streamed) Access(context.Context, string) error { return nil }

func (s streamed) ReadFile(context.Context, string, int64) ([]byte, error) {
	return nil, errors.New("the whole file was read")
}

func (s streamed) Open(context.Context, string) (io.ReadCloser, error) { return s.open(), nil }

// numbered yields the lines "line 1", "line 2" … up to size bytes at least.
type numbered struct {
	size, given int
	rest        []byte
	line        int
	closed      bool
}

func (n *numbered) Read(p []byte) (int, error) {
	if len(n.rest) == 0 {
		if n.given >= n.size {
			return 0, io.EOF
		}
		for len(n.rest) < 60_000 {
			n.line++
			n.rest = appendLine(n.rest, n.line)
		}
		n.given += len(n.rest)
	}
	c := copy(p, n.rest)
	n.rest = n.rest[:copy(n.rest, n.rest[c:])]
	return c, nil
}

func (n *numbered) Close() error { n.closed = true; return nil }

func appendLine(b []byte, n int) []byte {
	var digits [20]byte
	i := len(digits)
	for ; n > 0; n /= 10 {
		i--
		digits[i] = byte('0' + n%10)
	}
	return append(append(append(b, "line "...), digits[i:]...), '\n')
}

func readExecutor(t *testing.T, s streamed) *call.Executor {
	t.Helper()
	return executor(t, ops.Set{Target: ops.Target{Dir: "/"}, Read: s})
}

// A window of a file that can be streamed is found without holding the file.
func TestREAD01WindowOfAStreamInLittleMemory(t *testing.T) {
	const size = 200 << 20
	file := &numbered{size: size}
	x := readExecutor(t, streamed{func() io.ReadCloser { return file }})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o := x.Do(t.Context(), call.Request{Name: "read", Args: []byte(`{"path":"f","offset":1000000,"limit":2}`)}, nil)
	runtime.ReadMemStats(&after)
	text := tool.TextOf(o.Result.Content)
	if o.IsError || !strings.HasPrefix(text, "line 1000000\nline 1000001\n\n[") || !strings.Contains(text, "more lines in file. Use offset=1000002") {
		t.Errorf("%v %q", o.Err, text)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated for a file of %d", used, size)
	}
	if !file.closed {
		t.Error("the stream was not closed")
	}
}

// blocked is a stream whose Read waits for Close.
type blocked struct {
	reading, closed chan struct{}
	once, began     sync.Once
}

func (b *blocked) Read([]byte) (int, error) {
	b.began.Do(func() { close(b.reading) })
	<-b.closed
	return 0, fs.ErrClosed
}

func (b *blocked) Close() error { b.once.Do(func() { close(b.closed) }); return nil }

func TestREAD01AbortClosesTheStream(t *testing.T) {
	file := &blocked{reading: make(chan struct{}), closed: make(chan struct{})}
	x := readExecutor(t, streamed{func() io.ReadCloser { return file }})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-file.reading; cancel() }()
	o := x.Do(ctx, call.Request{Name: "read", Args: []byte(`{"path":"f"}`)}, nil)
	if !errors.Is(o.Err, context.Canceled) {
		t.Errorf("%v", o.Err)
	}
	<-file.closed
}

// Nothing waits for the other end of a FIFO, whatever the tool.
func TestREAD03SpecialFilesAreErrorsInEveryTool(t *testing.T) {
	b := newBench(t)
	if err := b.memory.Mkfifo("/ws/pipe"); err != nil {
		t.Fatal(err)
	}
	b.put("file", "needle\n")
	const reason = "pipe: it is not a regular file (a device, FIFO or socket)."
	b.fails("read", args{"path": "pipe"}, "Cannot read "+reason)
	b.fails("edit", args{"path": "pipe", "edits": []args{{"oldText": "a", "newText": "b"}}}, "Cannot edit "+reason)
	b.fails("write", args{"path": "pipe", "content": "x"}, "Cannot write "+reason)
	b.fails("grep", args{"pattern": "needle", "path": "pipe"}, "Cannot search "+reason)
	b.want("grep", args{"pattern": "needle"}, "file:1: needle")
	b.want("find", args{"pattern": "*"}, "file\npipe")
}

func TestREAD04OffsetsAndLimits(t *testing.T) {
	b := newBench(t)
	for name, content := range map[string]string{"0": "", "1": "a", "1n": "a\n", "2": "a\nb", "2n": "a\nb\n", "blank": "\n", "blanks": "\n\n"} {
		b.put(name, content)
	}
	for _, c := range []struct {
		path          string
		offset, limit any
		want          string
		fails         bool
	}{
		{"0", nil, nil, "(empty file)", false},
		{"0", 1, nil, "(empty file)", false},
		{"0", 2, nil, "Offset 2 is beyond end of file (0 lines total)", true},
		{"1", 1, nil, "a", false},
		{"1", 2, nil, "Offset 2 is beyond end of file (1 lines total)", true},
		{"1n", 1, nil, "a\n", false},
		{"1n", 2, nil, "Offset 2 is beyond end of file (1 lines total)", true}, // no line behind the last line feed
		{"2", 2, nil, "b", false},
		{"2", 1, 1, "a\n\n[1 more line in file. Use offset=2 to continue]", false},
		{"2n", 2, 1, "b\n", false},
		{"2n", 3, nil, "Offset 3 is beyond end of file (2 lines total)", true},
		{"2n", 1, 2, "a\nb\n", false},
		{"blank", 1, nil, "\n", false},
		{"blanks", 2, nil, "\n", false},
		{"blanks", 3, nil, "Offset 3 is beyond end of file (2 lines total)", true},
		{"2n", "2", nil, "b\n", false},
		{"2n", 9007199254740993, nil, "Offset 9007199254740993 is beyond end of file (2 lines total)", true},
		{"2n", 0, nil, "offset: Expected at least 1", true},
		{"2n", -1, nil, "offset: Expected at least 1", true},
		{"2n", 1.5, nil, "offset", true},
		{"2n", 1e300, nil, "offset", true},
		{"2n", "x", nil, "offset", true},
		{"2n", 1, 0, "limit: Expected at least 1", true},
		{"2n", 1, -5, "limit: Expected at least 1", true},
		{"2n", 1, 9007199254740993, "a\nb\n", false},
	} {
		a := args{"path": c.path}
		if c.offset != nil {
			a["offset"] = c.offset
		}
		if c.limit != nil {
			a["limit"] = c.limit
		}
		if c.fails {
			b.fails("read", a, c.want)
		} else {
			b.want("read", a, c.want)
		}
	}
}

// What read shows of a file with a byte order mark can be edited, with the mark
// and without it, and the mark stays.
func TestEDIT07ReadHidesTheMarkAndEditKeepsIt(t *testing.T) {
	b := newBench(t)
	const mark = "\uFEFF"
	b.put("f", mark+"key: 1\n")
	b.want("read", args{"path": "f"}, "key: 1\n")
	for i, old := range []string{"key: 1", mark + "key: 2"} {
		b.want("edit", args{"path": "f", "edits": []args{{"oldText": old, "newText": "key: " + string(rune('2'+i))}}}, "Successfully replaced 1 block in f.")
	}
	if got := b.get("f"); got != mark+"key: 3\n" {
		t.Errorf("%q", got)
	}
	b.want("write", args{"path": "f", "content": mark + "key: 4\n"}, "Successfully wrote to f")
	if got := b.get("f"); got != mark+"key: 4\n" {
		t.Errorf("%q", got)
	}
	b.put("alone", mark)
	b.want("read", args{"path": "alone"}, "(empty file)")
}

// A refused edit is no write at all.
func TestEDIT06RefusalWritesNothing(t *testing.T) {
	b := newBench(t)
	set, calls := recorded(t, b)
	list, err := tools.New(set, nil, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.x = call.New(call.Options{Tools: func() []tool.Tool { return list }})
	b.put("f", "foo bar\na\na\n")
	for text, edits := range map[string][]args{
		"oldText occurs 2 times in f, at lines 2 and 3":                  {{"oldText": "a\n", "newText": "b"}},
		"edits[1].oldText was not found in f":                            {{"oldText": "foo", "newText": "baz"}, {"oldText": "baz", "newText": "x"}},
		"edits[0] and edits[1] overlap at line 1 of f":                   {{"oldText": "foo b", "newText": "1"}, {"oldText": "o bar", "newText": "2"}},
		"oldText is empty: give the exact text of f":                     {{"oldText": "", "newText": "2"}},
		"oldText and newText are the same, so f would not change":        {{"oldText": "foo", "newText": "foo"}},
		"edits[1].oldText is empty: give the exact text of f that is to": {{"oldText": "foo", "newText": "x"}, {"oldText": "", "newText": "2"}},
	} {
		b.fails("edit", args{"path": "f", "edits": edits}, text)
	}
	if got := b.get("f"); got != "foo bar\na\na\n" {
		t.Errorf("%q", got)
	}
	for _, c := range calls() {
		if strings.HasPrefix(c, "write") {
			t.Errorf("%s", c)
		}
	}
}

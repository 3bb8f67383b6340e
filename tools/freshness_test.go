package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// poor are the operations without the abilities to edit and to swap, and versioned
// those with nothing but versions beside.
func poor(set ops.Set) ops.Set {
	set.Read = struct{ ops.ReadOperations }{set.Read}
	set.Write = struct{ ops.WriteOperations }{set.Write}
	set.Edit = struct{ ops.EditOperations }{set.Edit}
	return set
}

func versioned(set ops.Set) ops.Set {
	type abilities interface {
		ops.VersionReader
		ops.VersionWriter
	}
	able := set.Edit.(abilities) //nolint:forcetypeassert // the in-memory workspace has every ability
	set.Read = struct {
		ops.ReadOperations
		ops.VersionReader
	}{set.Read, able}
	set.Write = struct {
		ops.WriteOperations
		ops.VersionWriter
	}{set.Write, able}
	set.Edit = struct {
		ops.EditOperations
		abilities
	}{set.Edit, able}
	return set
}

// onEach runs a test on a workspace that compares and swaps at the target, on one that
// knows versions, and on one where the client looks.
func onEach(t *testing.T, test func(t *testing.T, b bench)) {
	t.Helper()
	for name, able := range map[string]func(ops.Set) ops.Set{
		"swaps": func(set ops.Set) ops.Set { return set }, "versions": versioned, "looks": poor,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.set = able(b.memory.Set())
			b.x = executor(t, b.set)
			test(t, b)
		})
	}
}

// read reads a file, whatever it says.
func (b bench) read(name string) {
	b.t.Helper()
	if got, ok := b.do("read", args{"path": name}); !ok {
		b.t.Error(got)
	}
}

func edits(old, text string) []args { return []args{{"oldText": old, "newText": text}} }

// A file that somebody else changed since it was read is not overwritten, and the
// model is told what changed.
func TestMUTQ03StaleWriteIsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, b bench) {
		b.put("a", "one\ntwo\nthree\n")
		b.read("a")
		b.put("a", "one\n2 by somebody else\nthree\n")
		b.fails("write", args{"path": "a", "content": "mine"}, "Cannot write a: it has changed since you last saw it (14B then, 29B now). Read it again, then write what is to stay.\n"+
			"What has changed:\n 1 one\n-2 two\n+2 2 by somebody else\n 3 three")
		if got := b.get("a"); got != "one\n2 by somebody else\nthree\n" {
			t.Errorf("%q", got)
		}
		b.fails("write", args{"path": "a", "content": "mine"}, "it has changed")
		b.read("a")
		b.want("write", args{"path": "a", "content": "mine"}, "Successfully wrote to a")
		b.put("a", "theirs")
		b.fails("write", args{"path": "a", "content": "mine again"}, "it has changed") // what it wrote counts as seen
	})
}

// What a session wrote itself, what was only touched, what was never seen and what
// is gone can be written.
func TestMUTQ03FreshWritesGoThrough(t *testing.T) {
	onEach(t, func(t *testing.T, b bench) {
		wrote := "Successfully wrote to a"
		b.put("a", "old")
		b.want("write", args{"path": "a", "content": "1"}, wrote) // never seen
		b.want("write", args{"path": "a", "content": "2"}, wrote)
		b.put("a", "2")
		b.want("write", args{"path": "a", "content": "one\ntwo\n"}, wrote) // touched
		b.want("edit", args{"path": "a", "edits": edits("two", "2")}, "Successfully replaced 1 block in a.")
		b.want("write", args{"path": "a", "content": ""}, wrote)
		b.want("write", args{"path": "a", "content": "x"}, wrote) // after an empty one
		if err := b.memory.Remove("/ws/a"); err != nil {
			t.Fatal(err)
		}
		b.want("write", args{"path": "a", "content": "anew"}, wrote)
		// By another name of it.
		if err := b.memory.Symlink("a", "/ws/alias"); err != nil {
			t.Fatal(err)
		}
		b.read("alias")
		b.want("write", args{"path": "a", "content": "by its name"}, wrote)
		b.want("write", args{"path": "alias", "content": "by the other"}, "Successfully wrote to alias")
	})
}

// Of a long file the windows that were shown are compared.
func TestMUTQ03WindowsAreCompared(t *testing.T) {
	long := func(changed int, text string) string {
		var b strings.Builder
		for i := 1; i <= 3000; i++ {
			if i == changed {
				fmt.Fprintln(&b, text)
				continue
			}
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String()
	}
	onEach(t, func(_ *testing.T, b bench) {
		b.put("long", long(0, ""))
		b.want("read", args{"path": "long", "offset": 1000, "limit": 1}, "line 1000\n\n[2000 more lines in file. Use offset=1001 to continue]")
		b.put("long", long(1000, "LINE 1000"))
		b.fails("write", args{"path": "long", "content": "short"}, "it has changed since you last saw it (")
		b.fails("edit", args{"path": "long", "edits": edits("1000", "x")}, "it has changed since you last saw it, also around the text")
		b.put("long", long(2000, "LINE 2000")) // where nobody looked
		b.want("edit", args{"path": "long", "edits": edits("line 1000\n", "1000\n")}, "Successfully replaced 1 block in long.")
	})
}

// A changed file is edited where it is as it was shown, and nowhere else.
func TestMUTQ03EditOfAChangedFile(t *testing.T) {
	text := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	for _, c := range []struct {
		name    string
		now     string
		old     string
		refused string // what is told; empty: it is edited
	}{
		{"far from the change", strings.Replace(text, "1\n", "one\nand more\n", 1), "9", ""},
		{"within three lines", strings.Replace(text, "7\n", "seven\n", 1), "9", "Read lines 6-12 again, then edit. They are now:\n6 6\n7 seven\n8 8\n9 9\n"},
		{"four lines away", strings.Replace(text, "5\n", "five\n", 1), "9", ""},
		{"at the end", text + "13\n", "11", "They are now:\n"},
		{"at the end, far enough", text + "13\n", "9", ""},
		{"the line is another", strings.Replace(text, "9\n", "9 times\n", 1), "9", "They are now:\n"},
		{"the text was never shown", strings.Replace(text, "9\n", "nine\n", 1), "nine", ""},
		{"the text is gone", strings.Replace(text, "9\n", "nine\n", 1), "9", "was not found in f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, b bench) {
				b.put("f", text)
				b.read("f")
				b.put("f", c.now)
				change := args{"path": "f", "edits": edits(c.old, "EDITED")}
				if c.refused != "" {
					b.fails("edit", change, c.refused)
					if got := b.get("f"); got != c.now {
						t.Errorf("%q", got)
					}
					return
				}
				raw, err := json.Marshal(change)
				if err != nil {
					t.Fatal(err)
				}
				o := b.x.Do(t.Context(), call.Request{ID: "1", Name: "edit", Args: raw}, nil)
				details, _ := json.Marshal(o.Result.Details)
				if o.IsError || !strings.Contains(string(details), `"changedElsewhere":true`) || b.get("f") != strings.Replace(c.now, c.old, "EDITED", 1) {
					t.Errorf("%s %s\n%s", tool.TextOf(o.Result.Content), details, b.get("f"))
				}
				// What the others did there is still unseen.
				b.fails("write", args{"path": "f", "content": "all"}, "it has changed since you last saw it")
			})
		})
	}
}

// The look is inside the queue: of two calls of one batch the second sees what the
// first has done, and what came between.
func TestMUTQ03LooksInsideTheQueue(t *testing.T) {
	b := newBench(t)
	b.put("a", "0")
	b.read("a")
	var batch []<-chan call.Outcome
	for i := range 5 {
		raw, err := json.Marshal(args{"path": "a", "content": fmt.Sprint(i + 1)})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan call.Outcome, 1)
		p := b.x.Prepare(t.Context(), call.Request{ID: fmt.Sprint(i), Name: "write", Args: raw})
		p.Reserve()
		go func() { done <- b.x.Run(t.Context(), p, nil) }()
		batch = append(batch, done)
	}
	for _, done := range batch {
		if o := <-done; o.IsError {
			t.Error(tool.TextOf(o.Result.Content))
		}
	}
	if got := b.get("a"); got != "5" {
		t.Errorf("%q", got)
	}
}

// A file that is too large to be compared and has another version counts as changed.
func TestMUTQ03LargeFileOfAnotherVersion(t *testing.T) {
	b := newBench(t)
	b.x = executor(t, versioned(b.memory.Set()))
	large := strings.Repeat("a line of some text\n", 9<<20/20)
	b.put("large", large)
	b.want("read", args{"path": "large", "limit": 1}, fmt.Sprintf("a line of some text\n\n[%d more lines in file. Use offset=2 to continue]", 9<<20/20-1))
	b.put("large", large+"more\n")
	b.fails("write", args{"path": "large", "content": "short"}, "Cannot write large: it has changed since you last saw it. Read it again")
	b.read("large")
	b.want("write", args{"path": "large", "content": "short"}, "Successfully wrote to large")
}

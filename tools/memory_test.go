package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// sessionOf is an executor of a session's tools, with what it remembers.
func sessionOf(t *testing.T, set ops.Set, session string, o tools.Options) *call.Executor {
	t.Helper()
	list, err := tools.New(set, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	return call.New(call.Options{
		Tools: func() []tool.Tool { return list },
		Scope: func() tool.Scope { return tool.Scope{Dir: "/ws", Root: "/ws", SessionID: session} },
	})
}

// What a session has seen of files outlives the process: the next one is refused what
// this one would have been, and nothing else.
func TestMUTQ05WhatWasSeenOutlivesTheProcess(t *testing.T) {
	long := strings.Repeat("line\n", 3000)
	onEach(t, func(t *testing.T, b bench) {
		before, after := tools.NewMemory(), tools.NewMemory()
		able := b.set
		b.x = sessionOf(t, able, "s", tools.Options{Memory: before})
		var told []string
		news := func() {
			if data := before.News("s"); data != nil {
				told = append(told, string(data))
			}
		}
		b.put("long", long)
		b.want("read", args{"path": "long", "offset": 1000, "limit": 1}, "line\n\n[2000 more lines in file. Use offset=1001 to continue]")
		for _, name := range []string{"same", "changed", "edited", "gone"} {
			b.put(name, "secret one\n")
			b.read(name)
			news()
		}
		b.want("edit", args{"path": "edited", "edits": edits("one", "two")}, "Successfully replaced 1 block in edited.")
		b.put("other session's", "one\n")
		news()
		if before.News("s") != nil || len(told) == 0 {
			t.Errorf("told twice, or never: %v", told)
		}
		for _, data := range told {
			if strings.Contains(data, "secret") {
				t.Errorf("it tells the text of a file: %s", data)
			}
			if err := after.Restore("s", []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		if after.News("s") != nil {
			t.Error("what was restored is told again")
		}
		b.x = sessionOf(t, able, "s", tools.Options{Memory: after})
		b.put("changed", "by somebody else\n")
		b.put("long", strings.Replace(long, "line\n", "LINE\n", 1000))
		if err := b.memory.Remove("/ws/gone"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"changed", "long"} {
			b.fails("write", args{"path": name, "content": "mine"}, "it has changed since you last saw it")
		}
		for _, name := range []string{"same", "edited", "gone", "other session's"} {
			b.want("write", args{"path": name, "content": "mine"}, fmt.Sprintf("Successfully wrote to %s", name))
		}
		b.want("edit", args{"path": "changed", "edits": edits("else", "ELSE")}, "Successfully replaced 1 block in changed.")
	})
}

func TestRestoreSaysWhatIsWrong(t *testing.T) {
	if err := tools.NewMemory().Restore("s", []byte("{")); err == nil || !strings.Contains(err.Error(), "what a session has seen of files") {
		t.Error(err)
	}
}

// A strict session changes nothing that it has not read as it is.
func TestMUTQ05StrictDemandsARead(t *testing.T) {
	onEach(t, func(t *testing.T, b bench) {
		b.x = sessionOf(t, b.set, "s", tools.Options{Strict: true})
		b.put("a", "one\ntwo\n")
		b.fails("write", args{"path": "a", "content": "mine"}, "Cannot write a: you have not read it. Read it first, then write it.")
		b.fails("edit", args{"path": "a", "edits": edits("one", "1")}, "Cannot edit a: you have not read it. Read it first, then edit it.")
		b.want("write", args{"path": "new/b", "content": "mine"}, "Successfully wrote to new/b")
		b.want("edit", args{"path": "new/b", "edits": edits("mine", "ours")}, "Successfully replaced 1 block in new/b.")
		b.read("a")
		b.want("edit", args{"path": "a", "edits": edits("one", "1")}, "Successfully replaced 1 block in a.")
		b.put("a", "1\ntwo\n"+strings.Repeat("far away\n", 10)+"theirs\n")
		b.fails("edit", args{"path": "a", "edits": edits("1\n", "one\n")}, "Cannot edit a: it has changed since you last saw it")
		b.fails("write", args{"path": "a", "content": "mine"}, "Cannot write a: it has changed since you last saw it")
		b.read("a")
		b.want("write", args{"path": "a", "content": "mine"}, "Successfully wrote to a")
	})
}

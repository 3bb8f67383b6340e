package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/agent/llm"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/tools/tool"
)

// A writer that is killed leaves the last record cut at any byte. What was whole
// before it is there, the cut is told, and the session goes on.
func TestKilledAtEachByteOfTheLastRecord(t *testing.T) {
	l := create(t, options(t.TempDir()))
	add(t, l, says("hello"), answers("hi"), says("bye – \"\\ \n"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	path := filepath.Join(t.TempDir(), "cut.jsonl")
	for size := last; size <= len(data); size++ {
		if err := os.WriteFile(path, data[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		whole := 2
		torn := size - last
		if size >= len(data)-1 { // only the newline is missing
			whole, torn = 3, 0
		}
		reader, err := store.Read(path)
		if err != nil || len(reader.Entries()) != whole || reader.Repair().Torn != torn {
			t.Fatalf("cut at %d: read %d entries, %+v, %v", size, len(reader.Entries()), reader.Repair(), err)
		}
		cut, err := store.Open(path, store.Options{})
		if err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		if r := cut.Repair(); len(cut.Entries()) != whole || r.Torn != torn || (r.String() != "") != (torn > 0) {
			t.Fatalf("cut at %d: %d entries, %q", size, len(cut.Entries()), r)
		}
		if _, err := cut.Append(says("on")); err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		if err := cut.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := store.Open(path, store.Options{})
		if err != nil || again.Repair().String() != "" || len(again.Entries()) != whole+1 {
			t.Fatalf("cut at %d: opened again: %v, %v", size, again, err)
		}
		if way := again.Branch(again.Leaf()); len(way) != whole+1 {
			t.Fatalf("cut at %d: the way to the leaf has %d entries", size, len(way))
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnreadableLinesAreTold(t *testing.T) {
	l := create(t, options(t.TempDir()))
	add(t, l, says("a"), says("b"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), "\n", "\n\nnoise\n{\"type\":\"message\",\"id\":\"x\"}\n", 1)
	if err := os.WriteFile(l.Path(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	again := open(t, l.Path())
	if r := again.Repair(); len(again.Entries()) != 2 || len(r.Unreadable) != 2 || r.Unreadable[0] != 3 || !strings.Contains(r.String(), "line 3") {
		t.Errorf("%d entries, %q", len(again.Entries()), r)
	}
	for _, text := range []string{"not a session\n", `{"type":"message","id":"a"}` + "\n", `{"type":"session","version":9,"id":"a"}` + "\n", `{"type":"session"}` + "\n"} {
		path := filepath.Join(t.TempDir(), "no.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(path, store.Options{}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
		if kept, err := os.ReadFile(path); err != nil || string(kept) != text {
			t.Errorf("what is no session was changed to %q, %v", kept, err)
		}
	}
}

func TestOneWriter(t *testing.T) {
	l := create(t, options(t.TempDir()))
	add(t, l, says("a"))
	if _, err := store.Open(l.Path(), store.Options{}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	if _, err := store.Read(l.Path()); err != nil {
		t.Errorf("reading needs no lock: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(says("late")); err == nil {
		t.Error("appended to a closed session")
	}
	again := open(t, l.Path())
	f, err := os.OpenFile(l.Path(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{}\n"); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if _, err := again.Append(says("b")); !errors.Is(err, store.ErrChanged) {
		t.Errorf("another program's record was not noticed: %v", err)
	}
}

func TestOpenSessionsAreNotRemoved(t *testing.T) {
	l := create(t, options(t.TempDir()))
	add(t, l, says("a"))
	if err := store.Remove(l.Path()); !errors.Is(err, store.ErrLocked) {
		t.Errorf("removed while it is open: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Remove(l.Path()); err != nil {
		t.Error(err)
	}
	if err := store.Remove(l.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}
}

func TestReadingChangesNothing(t *testing.T) {
	l := create(t, options(t.TempDir()))
	add(t, l, says("a"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := store.Read(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Append(says("b")); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("appended: %v", err)
	}
}

func TestSecretsAreNotStored(t *testing.T) {
	o := options(t.TempDir())
	o.Redact = func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("tok\"en"), []byte("[secret]")) }
	l := create(t, o)
	kept, err := store.Outcome(result("c", `out tok"en`))
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, says(`my tok"en here`), answers(`your tok"en`), kept, store.SessionInfo{Name: `tok"en`},
		store.Unknown{Type: "x", Raw: []byte(`{"tok\"en":"\u0074ok\"en"}`)})
	data, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), `ok\"en`) || strings.Count(string(data), "[secret]") != 6 {
		t.Errorf("%s", data)
	}
	m := l.Entries()[0].(store.Message).Message.(*llm.User)
	if text := tool.TextOf(m.Content); text != "my [secret] here" {
		t.Errorf("in memory the user says %q", text)
	}
	if l.Name() != "[secret]" {
		t.Errorf("in memory the name is %q", l.Name())
	}
}

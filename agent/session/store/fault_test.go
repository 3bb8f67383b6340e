package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/piremote/piremote/agent/llm"
)

// flaky is a disk that takes some bytes of a write and then fails.
type flaky struct {
	*os.File
	room     int // bytes that it still takes; negative is all
	stuck    bool
	attempts int
}

var (
	errFull  = errors.New("no space left")
	errStuck = errors.New("read-only file system")
)

func (f *flaky) Write(p []byte) (int, error) {
	f.attempts++
	if f.room < 0 || len(p) <= f.room {
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:f.room])
	return n, errors.Join(errFull, err)
}

func (f *flaky) Truncate(size int64) error {
	if f.stuck {
		return errStuck
	}
	return f.File.Truncate(size)
}

func flakyLog(t *testing.T) (*Log, *flaky) {
	t.Helper()
	l, err := Create(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(Message{Message: llm.UserText("first", 1)}); err != nil {
		t.Fatal(err)
	}
	f := &flaky{File: l.file.disk.(*os.File), room: -1}
	l.file.disk = f
	t.Cleanup(func() { _ = l.Close() })
	return l, f
}

// An entry of which a full disk takes any part is taken back whole: in the file and
// in memory.
func TestFailedAppendIsTakenBack(t *testing.T) {
	l, f := flakyLog(t)
	before, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	leaf := l.Leaf()
	for room := range 60 {
		f.room = room
		if _, err := l.Append(Message{Message: llm.UserText("second", 2)}); !errors.Is(err, errFull) {
			t.Fatalf("room for %d: %v", room, err)
		}
		after, err := os.ReadFile(l.Path())
		if err != nil || string(after) != string(before) {
			t.Fatalf("room for %d: the file is %q, %v", room, after, err)
		}
		if l.Leaf() != leaf || len(l.Entries()) != 1 {
			t.Fatalf("room for %d: the leaf is %s of %d entries", room, l.Leaf(), len(l.Entries()))
		}
	}
	f.room = -1
	e, err := l.Append(Message{Message: llm.UserText("third", 3)})
	if err != nil || e.Meta().ParentID != leaf {
		t.Errorf("%v, %v", e, err)
	}
}

// What can't be taken back is not written over: the next open cuts it off.
func TestNothingIsAppendedToWhatCannotBeTakenBack(t *testing.T) {
	l, f := flakyLog(t)
	f.room, f.stuck = 10, true
	_, err := l.Append(Message{Message: llm.UserText("second", 2)})
	if !errors.Is(err, errFull) || !errors.Is(err, errStuck) {
		t.Fatal(err)
	}
	f.room, f.stuck = -1, false
	attempts := f.attempts
	if _, err := l.Append(Message{Message: llm.UserText("third", 3)}); !errors.Is(err, errStuck) || f.attempts != attempts {
		t.Errorf("%v after %d more writes", err, f.attempts-attempts)
	}
	_ = l.Close()
	again, err := Open(l.Path(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if again.Repair().Torn != 10 || len(again.Entries()) != 1 {
		t.Errorf("%+v, %d entries", again.Repair(), len(again.Entries()))
	}
}

// A file that can't be made leaves nothing behind, and what waits for it waits on.
func TestFileThatCannotBeMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Create(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(ModelChange{Provider: "p", ModelID: "m"}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(Message{Message: llm.UserText("a", 1)}); err == nil || len(l.Entries()) != 1 {
		t.Fatalf("%v with %d entries", err, len(l.Entries()))
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(Message{Message: llm.UserText("b", 1)}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Read(l.Path())
	if err != nil || len(again.Entries()) != 2 {
		t.Errorf("%v, %v", again, err)
	}
}

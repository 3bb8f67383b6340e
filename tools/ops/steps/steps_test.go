package steps_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/opstest"
	"github.com/piremote/piremote/tools/ops/steps"
	"github.com/piremote/piremote/tools/textedit"
)

// calls are the operations that were called, and on what.
func calls(r *opstest.Recorder) (list []string) {
	for _, c := range r.Calls() {
		list = append(list, string(c.Op)+" "+c.Subject)
	}
	return list
}

func TestEditFileReadsAndWrites(t *testing.T) {
	m := opstest.NewMemory(opstest.Options{})
	if err := m.PutFile("/ws/f", []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	set, recorder := opstest.Record(m)
	got, err := steps.EditFile(t.Context(), set.Edit, "/ws/f", ops.EditRequest{Name: "f", Edits: []ops.Replacement{{Old: "two", New: "2"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := ops.EditReport{
		WriteReport: ops.WriteReport{Path: "/ws/f"}, FirstChangedLine: 2,
		Before: steps.Hash([]byte("one\ntwo\n")), After: steps.Hash([]byte("one\n2\n")),
		Diff: " 1 one\n-2 two\n+2 2\n", Patch: "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
	}
	got.Version = ops.Version{}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"read version /ws/f", "write version /ws/f"}, calls(recorder)); d != "" {
		t.Error(d)
	}
}

func TestEditFileThatDoesNotApplyWritesNothing(t *testing.T) {
	m := opstest.NewMemory(opstest.Options{})
	if err := m.PutFile("/ws/f", []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	set, recorder := opstest.Record(m)
	_, err := steps.EditFile(t.Context(), set.Edit, "/ws/f", ops.EditRequest{Name: "f", Edits: []ops.Replacement{{Old: "two", New: "2"}}})
	var mismatch *ops.MismatchError
	var cause *textedit.NotFoundError
	if !errors.As(err, &mismatch) || !errors.As(err, &cause) || mismatch.Error() != cause.Error() {
		t.Errorf("%v (%T)", err, err)
	}
	if d := cmp.Diff([]string{"read version /ws/f"}, calls(recorder)); d != "" {
		t.Error(d)
	}
}

// gone is files of which the folder vanishes before the write.
type gone struct{ ops.EditOperations }

func (gone) WriteFile(_ context.Context, p string, _ []byte) (ops.WriteReport, error) {
	return ops.WriteReport{}, &fs.PathError{Op: "write", Path: p, Err: fs.ErrNotExist}
}

func TestEditFileThatVanishesHasChanged(t *testing.T) {
	m := opstest.NewMemory(opstest.Options{})
	if err := m.PutFile("/ws/d/f", []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := steps.EditFile(t.Context(), gone{m.Set().Edit}, "/ws/d/f", ops.EditRequest{Name: "f", Edits: []ops.Replacement{{Old: "one", New: "1"}}})
	if !errors.Is(err, ops.ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestWriteTreeMakesFoldersWhereTheyAreMissing(t *testing.T) {
	full := errors.New("full")
	for _, c := range []struct {
		name  string
		path  string
		fault opstest.Fault
		calls []string
		tree  bool
	}{
		{"there", "/ws/f", opstest.Fault{}, []string{"write file /ws/f"}, false},
		{"missing", "/ws/a/b/f", opstest.Fault{}, []string{"write file /ws/a/b/f", "mkdir /ws/a/b", "write file /ws/a/b/f"}, false},
		{"no folder", "/ws/a/f", opstest.Fault{Op: opstest.OpMkdirAll, Err: full}, []string{"write file /ws/a/f", "mkdir /ws/a"}, false},
		{"no file", "/ws/f", opstest.Fault{Op: opstest.OpWriteFile, Err: full}, []string{"write file /ws/f"}, false},
		{
			"no file in the new folder", "/ws/a/f",
			opstest.Fault{Op: opstest.OpWriteFile, Skip: 1, Err: full},
			[]string{"write file /ws/a/f", "mkdir /ws/a", "write file /ws/a/f"},
			true,
		},
	} {
		files := &striking{set: opstest.Inject(opstest.NewMemory(opstest.Options{}), c.fault)}
		_, err := steps.WriteTree(t.Context(), files, c.path, []byte("x"))
		var tree *ops.TreeError
		if !errors.Is(err, c.fault.Err) || errors.As(err, &tree) != c.tree {
			t.Errorf("%s: %v (%T)", c.name, err, err)
		}
		if d := cmp.Diff(c.calls, files.calls); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// striking keeps the calls of operations that may fail.
type striking struct {
	set   ops.Set
	calls []string
}

func (s *striking) WriteFile(ctx context.Context, p string, data []byte) (ops.WriteReport, error) {
	s.calls = append(s.calls, "write file "+p)
	return s.set.Write.WriteFile(ctx, p, data)
}

func (s *striking) MkdirAll(ctx context.Context, dir string) error {
	s.calls = append(s.calls, "mkdir "+dir)
	return s.set.Write.MkdirAll(ctx, dir)
}

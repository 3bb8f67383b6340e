package wire

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/piremote/piremote/agent/call"
	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// second is a session on a handle of its own.
func second(t *testing.T, w *Workspace, id string, o tools.Options) *call.Executor {
	t.Helper()
	list, err := tools.New(w.Set, []string{"read", "write", "edit"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return call.New(call.Options{
		Tools: func() []tool.Tool { return list },
		Scope: func() tool.Scope { return tool.Scope{SessionID: id} },
	})
}

// Two sessions share a workspace: each has seen what it has seen, their changes of one
// file come one after the other, and the last that ends closes it.
func TestSessionsShareAWorkspace(t *testing.T) {
	w, err := Open(t.Context(), Options{Workspace: config.Workspace{Backend: "local", Path: t.TempDir()}, Config: &config.Config{}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	other, err := w.Share()
	if err != nil {
		t.Fatal(err)
	}
	a, b := second(t, w, "a", tools.Options{}), second(t, other, "b", tools.Options{})
	do := func(x *call.Executor, name string, args map[string]any) call.Outcome {
		return x.Do(t.Context(), batchCall(t, name, args), nil)
	}
	if o := do(a, "write", map[string]any{"path": "f", "content": "0"}); o.IsError {
		t.Fatal(o.Err)
	}
	do(b, "read", map[string]any{"path": "f"})
	if o := do(a, "write", map[string]any{"path": "f", "content": "by a"}); o.IsError {
		t.Fatal(o.Err)
	}
	if o := do(b, "write", map[string]any{"path": "f", "content": "by b"}); !errors.Is(o.Err, ops.ErrChanged) {
		t.Errorf("one session's change is not news to the other: %v", o.Err)
	}
	between := strings.Repeat("between\n", 10)
	if err := os.WriteFile(w.Set.Target.Dir+"/f", []byte("a0\n"+between+"b0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	const edits = 20
	for name, x := range map[string]*call.Executor{"a": a, "b": b} {
		do(x, "read", map[string]any{"path": "f"})
		group.Go(func() {
			for i := range edits {
				if o := do(x, "edit", map[string]any{"path": "f", "edits": []map[string]string{{"oldText": fmt.Sprint(name, i), "newText": fmt.Sprint(name, i+1)}}}); o.IsError {
					t.Error(o.Err)
				}
			}
		})
	}
	group.Wait()
	if got, err := os.ReadFile(w.Set.Target.Dir + "/f"); err != nil || string(got) != fmt.Sprintf("a%d\n%sb%d\n", edits, between, edits) {
		t.Errorf("%q, %v", got, err)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if o := do(b, "read", map[string]any{"path": "f"}); o.IsError {
		t.Errorf("a handle was closed twice, and the other does not work: %v", o.Err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Share(); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed workspace is shared: %v", err)
	}
}

package opstest_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/opstest"
)

func TestInjectStrikesOnceBeforeOrAfterTheEffect(t *testing.T) {
	m := opstest.NewMemory(opstest.Options{})
	before, after := errors.New("before"), errors.New("after")
	set := opstest.Inject(m,
		opstest.Fault{Op: opstest.OpWriteFile, Subject: "/ws/a", Skip: 1, Err: before},
		opstest.Fault{Op: opstest.OpWriteFile, Subject: "/ws/b", Err: after, After: true},
		opstest.Fault{Op: opstest.OpExec, Err: &ops.TransportError{Kind: ops.KindUnavailable}})
	for i, step := range []struct {
		path, text, holds string
		want              error
	}{
		{"/ws/a", "1", "1", nil},
		{"/ws/a", "2", "1", before},
		{"/ws/a", "3", "3", nil},
		{"/ws/b", "4", "4", after},
		{"/ws/b", "5", "5", nil},
	} {
		_, err := set.Write.WriteFile(t.Context(), step.path, []byte(step.text))
		data, gerr := m.GetFile(step.path)
		if !errors.Is(err, step.want) || gerr != nil || string(data) != step.holds {
			t.Errorf("step %d: %v, %q, %v", i, err, data, gerr)
		}
	}
	if _, err := set.Bash.Exec(t.Context(), ops.Command{Script: "true", Dir: "/ws"}, nil); ops.KindOf(err) != ops.KindUnavailable {
		t.Errorf("exec: %v", err)
	}
}

func TestRecordKeepsCallsInOrder(t *testing.T) {
	set, recorder := opstest.Record(opstest.NewMemory(opstest.Options{}))
	_, werr := set.Write.WriteFile(t.Context(), "/ws/a", nil)
	_, rerr := set.Read.ReadFile(t.Context(), "/ws/b", 0)
	_, xerr := set.Bash.Exec(t.Context(), ops.Command{Script: "exit 3", Dir: "/ws"}, nil)
	if werr != nil || rerr == nil || xerr != nil {
		t.Fatal(werr, rerr, xerr)
	}
	var got []string
	for _, c := range recorder.Calls() {
		text := string(c.Op) + " " + c.Subject
		if c.Err != nil {
			text += " fails"
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"write file /ws/a", "read file /ws/b fails", "exec exit 3"}, got); diff != "" {
		t.Error(diff)
	}
}

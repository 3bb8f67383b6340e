package tools_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/ops/opstest"
)

// A change costs one operation where the workspace has the ability, and the
// queue, where nothing else is under way, none.
func TestAChangeIsOneOperation(t *testing.T) {
	for _, c := range faultCases() {
		want := map[string]opstest.Op{"write": opstest.OpWriteTree, "edit": opstest.OpEditFile}[c.tool]
		if want == "" || c.plain || strings.Contains(c.name, "alternative") {
			continue
		}
		set, recorder := opstest.Record(faultMemory(t))
		set.Mutations = ops.NewMutations(func(_ context.Context, p string) (string, error) {
			t.Errorf("%s: the queue asks for %s", c.name, p)
			return p, nil
		})
		if text, failed, err := c.run(t, set); failed {
			t.Errorf("%s: %s %v", c.name, text, err)
		}
		if calls := recorder.Calls(); len(calls) != 1 || calls[0].Op != want {
			t.Errorf("%s: %+v", c.name, calls)
		}
	}
}

// A path that the target can't resolve fails whatever would change it while
// something else is under way. Alone, nobody asks for it.
func TestUnresolvablePathFailsEveryChange(t *testing.T) {
	for _, c := range faultCases() {
		if c.tool != "write" && c.tool != "edit" {
			continue
		}
		m := faultMemory(t)
		before := contents(t, m)
		set := m.Set()
		way := &ops.TransportError{Kind: ops.KindUnavailable, Target: "ssh://host", Msg: "the way to ssh://host is broken"}
		set.Mutations = ops.NewMutations(func(context.Context, string) (string, error) { return "", way })
		err := set.Mutations.Ticket("/ws/another", false).Do(t.Context(), func(context.Context) error {
			text, failed, err := c.run(t, set) //nolint:contextcheck // somebody else's call, which has to wait
			if !failed || !errors.Is(err, way) || !strings.Contains(text, "Cannot "+c.tool+" ") || !strings.Contains(text, c.names) {
				t.Errorf("%s: %v %s", c.name, err, text)
			}
			return nil
		})
		if d := cmp.Diff(before, contents(t, m)); d != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, d)
		}
		if text, failed, err := c.run(t, set); failed {
			t.Errorf("%s alone: %v %s", c.name, err, text)
		}
		if !set.Mutations.Idle() {
			t.Errorf("%s: a place in the queue remains", c.name)
		}
	}
}

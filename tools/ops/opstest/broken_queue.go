package opstest

import (
	"context"
	"path"

	"github.com/piremote/piremote/tools/ops"
)

func brokenQueues() []Breach {
	return []Breach{
		{Check: "MutationsKeepBoth", Fault: "the queue compares paths as they were given", Break: func(m *Memory) ops.Set {
			set := m.Set()
			set.Mutations = ops.NewMutations(nil)
			set.At = sharing(m, set.Mutations)
			return set
		}},
		{Check: "MutationsIndependent", Fault: "one lock for all files", Break: func(m *Memory) ops.Set {
			set := m.Set()
			set.Mutations = ops.NewMutations(func(context.Context, string) (string, error) { return "all", nil })
			set.At = sharing(m, set.Mutations)
			return set
		}},
		alter("Canonical", "links above a missing file are not followed", func(m *Memory, next operations, a *altered) {
			a.canonical = func(ctx context.Context, p string) (string, error) {
				canonical, err := next.Canonical(ctx, p)
				if _, lerr := m.Lstat(p); err == nil && lerr != nil {
					canonical = path.Clean(p)
				}
				return canonical, err
			}
		}),
		{Check: "AtMoves", Fault: "another folder has a queue of its own", Break: func(m *Memory) ops.Set {
			set := m.Set()
			set.At = func(dir, root string) (ops.Set, error) { return m.at(dir, root), nil }
			return set
		}},
	}
}

// sharing is At with this queue.
func sharing(m *Memory, queue *ops.Mutations) func(dir, root string) (ops.Set, error) {
	return func(dir, root string) (ops.Set, error) {
		set := m.at(dir, root)
		set.Mutations = queue
		return set, nil
	}
}

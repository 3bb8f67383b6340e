package backendtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/piremote/piremote/tools/ops"
)

func spillChecks() []Check {
	return []Check{
		{Name: "SpillKeepsAll", Rule: "the spill file has the raw output and can be read like any file (TRUN-02)", Exec: true, Run: spillKeepsAll},
		{Name: "SpillReplaced", Rule: "a spill file in whose place somebody put a link is refused like what lies outside (CONF-02, BASH-10)", Exec: true, Run: spillReplaced},
		{Name: "SpillLimit", Rule: "SpillLimit bounds the spill file, and the exit says that it was cut (TRUN-01)", Exec: true, Run: spillLimit},
		{Name: "SpillNotForLittle", Rule: "a small output is not spilled, nor one that Spill does not ask for", Exec: true, Run: spillNotForLittle},
	}
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		_, _ = fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

func spilling(limit int64) func(*ops.Command) {
	return func(c *ops.Command) { c.Spill, c.SpillLimit = true, limit }
}

func spillKeepsAll(ctx context.Context, w *Workspace) error {
	r, err := w.run(ctx, "seq 30000", spilling(0))
	if err != nil {
		return err
	}
	if r.SpillPath == "" {
		return fmt.Errorf("no spill file is named")
	}
	want := []byte(numbers(30000))
	got, err := w.Set.Read.ReadFile(ctx, r.SpillPath, 0)
	return first(done("read the spill file", err), sameBytes("the spill file", got, want), same("SpillSize", r.SpillSize, int64(len(want))), same("SpillCut", r.SpillCut, false))
}

func spillReplaced(ctx context.Context, w *Workspace) error {
	dir, err := w.outside()
	if err != nil {
		return err
	}
	r, err := w.run(ctx, "seq 9000", spilling(0))
	if err != nil {
		return err
	}
	if _, err := w.run(ctx, "rm '"+r.SpillPath+"' && ln -s '"+dir+"/secret' '"+r.SpillPath+"'"); err != nil {
		return err
	}
	data, err := w.Set.Read.ReadFile(ctx, r.SpillPath, 0)
	return fileError(fmt.Sprintf("read %q", data), err, ops.ErrOutside)
}

func spillLimit(ctx context.Context, w *Workspace) error {
	const limit = 50_000
	r, err := w.run(ctx, "seq 30000", spilling(limit))
	if err != nil {
		return err
	}
	got, err := w.Set.Read.ReadFile(ctx, r.SpillPath, 0)
	if err := first(done("read the spill file", err), same("SpillCut", r.SpillCut, true), same("SpillSize", r.SpillSize, int64(len(got)))); err != nil {
		return err
	}
	if len(got) == 0 || len(got) > limit {
		return fmt.Errorf("the spill file has %d bytes, the limit is %d", len(got), limit)
	}
	return nil
}

func spillNotForLittle(ctx context.Context, w *Workspace) error {
	little, err := w.run(ctx, "seq 100", spilling(0))
	if err != nil {
		return err
	}
	unasked, err := w.run(ctx, "seq 30000")
	return first(err, same("SpillPath of a small output", little.SpillPath, ""), same("SpillPath where none is asked for", unasked.SpillPath, ""))
}

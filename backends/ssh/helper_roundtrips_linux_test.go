package ssh

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/faultproxy"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// ability is the value of an ability that has to be there.
func ability[T any](t *testing.T, v any) T {
	t.Helper()
	a, ok := v.(T)
	if !ok {
		t.Fatalf("%T is no %T", v, a)
	}
	return a
}

// TestRoundTripsWithHelper: behind a helper each operation waits for the link once.
func TestRoundTripsWithHelper(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{})
	proxy, err := faultproxy.Listen(t.Context(), faultproxy.Options{Target: s.Address(), Delay: delay})
	must(t, err)
	defer func() { must(t, proxy.Close()) }()
	bundle := helpertest.Bundle(t)
	change := func(o *Options) {
		o.Port, o.AcceptNew, o.Helper, o.Helpers = proxy.Port(), true, helper.Require, bundle
		o.Keepalive = time.Hour // no sign of life between the counts
	}
	g := openTarget(t, s, change)
	ctx, set := t.Context(), g.Set()
	small := g.put(t, "small", strings.Repeat("some text\n", 409), 0o644)
	large := g.put(t, "large", strings.Repeat("a line of text\n", 14_000)+"the one\n", 0o644)
	many := filepath.Join(g.dir, "many")
	must(t, os.Mkdir(many, 0o755))
	for i := range 10_000 {
		must(t, os.WriteFile(filepath.Join(many, fmt.Sprintf("file-%05d", i)), nil, 0o644))
	}
	edits := [2]ops.Replacement{{Old: "the one", New: "the other"}, {Old: "the other", New: "the one"}}
	n, turn := 0, 0
	for name, run := range map[string]func() error{
		"stat":      func() error { _, err := set.Ls.Stat(ctx, small); return err },
		"access":    func() error { return set.Read.Access(ctx, small) },
		"read":      func() error { _, err := set.Read.ReadFile(ctx, small, 0); return err },
		"canonical": func() error { _, err := ability[ops.Canonicalizer](t, set.Edit).Canonical(ctx, small); return err },
		"window": func() error {
			_, err := ability[ops.WindowReader](t, set.Read).ReadWindow(ctx, large, ops.WindowRequest{Offset: 10_000, Limit: 100, MaxBytes: 50_000})
			return err
		},
		"write": func() error { _, err := set.Write.WriteFile(ctx, small, []byte("new\n")); return err },
		"write tree": func() error {
			n++
			_, err := ability[ops.TreeWriter](t, set.Write).WriteTree(ctx, filepath.Join(g.dir, fmt.Sprint("d", n), "e", "f"), []byte("new\n"))
			return err
		},
		"edit 200 KB": func() error {
			_, err := ability[ops.Editor](t, set.Edit).EditFile(ctx, large, ops.EditRequest{Name: "large", Edits: edits[turn : turn+1]})
			turn = 1 - turn
			return err
		},
		"list 10,000": func() error {
			entries := 0
			err := set.Ls.ReadDir(ctx, many, func(fs.DirEntry) bool { entries++; return true })
			if err == nil && entries != 10_000 {
				err = fmt.Errorf("%d entries", entries)
			}
			return err
		},
		"search": func() error {
			_, err := ability[ops.Searcher](t, set.Grep).Search(ctx, ops.SearchRequest{Root: g.dir, Path: g.dir, Pattern: "the o", MaxLine: 100}, func(ops.SearchLine) bool { return true })
			return err
		},
		"glob": func() error {
			_, err := ability[ops.Globber](t, set.Find).Glob(ctx, ops.GlobRequest{Root: g.dir, Path: g.dir, Pattern: "*5"}, func(string) bool { return true })
			return err
		},
		"exec": func() error { _, _, err := g.run(ctx, "true"); return err },
	} {
		trips := measure(t, proxy, run)
		t.Logf("%-11s %d", name, trips)
		if trips > 1 {
			t.Errorf("%s takes %d round trips", name, trips)
		}
	}
}

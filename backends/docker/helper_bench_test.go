//go:build linux

package docker

import (
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// BenchmarkHelper compares operations behind the helper with one exec of true in the
// same container.
func BenchmarkHelper(b *testing.B) {
	d := servers.StartDockerd(b)
	o := Options{Host: d.Host, Container: d.Run(b, servers.ContainerOptions{}), Dir: "/", Helper: helper.Require, Helpers: helpertest.Bundle(b)}
	w, err := Open(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	set := w.Set()
	if _, err := set.Write.WriteFile(b.Context(), "/f", []byte(strings.Repeat("x", 4096))); err != nil {
		b.Fatal(err)
	}
	r, _, err := reach(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"exec of true": func() error {
			_, err := r.Run(b.Context(), posix.Process{Argv: []string{"/bin/true"}})
			return err
		},
		"read":  func() error { _, err := set.Read.ReadFile(b.Context(), "/f", 0); return err },
		"stat":  func() error { _, err := set.Ls.Stat(b.Context(), "/f"); return err },
		"write": func() error { _, err := set.Write.WriteFile(b.Context(), "/f", []byte("new")); return err },
		"bash": func() error {
			_, err := set.Bash.Exec(b.Context(), ops.Command{Script: "true"}, func(ops.Chunk) {})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

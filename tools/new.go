package tools

import (
	"fmt"
	"slices"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/tool"
)

// Options adjusts the tools. The zero value is useful.
type Options struct {
	Bash       ShellOptions
	PowerShell ShellOptions
	// Memory is what sessions have seen of files; nil means one that begins empty.
	Memory *Memory
	// Strict refuses to write over or to edit a file that the session has not read, or
	// that somebody else has changed since, wherever the change is.
	Strict bool
}

// workspace is what every tool knows about where it works.
type workspace struct {
	set    ops.Set
	seen   *Memory
	strict bool // see Options
}

// builder makes one tool for a workspace that offers what it needs.
type builder struct {
	name   string
	offers func(ops.Set) bool
	build  func(workspace, Options) (tool.Tool, error)
}

func builders() []builder {
	return []builder{
		{"read", func(s ops.Set) bool { return s.Read != nil }, newRead},
		{"bash", func(s ops.Set) bool { return s.Bash != nil }, newBash},
		{"edit", func(s ops.Set) bool { return s.Edit != nil }, newEdit},
		{"write", func(s ops.Set) bool { return s.Write != nil }, newWrite},
		{"grep", func(s ops.Set) bool { return s.Grep != nil }, newGrep},
		{"find", func(s ops.Set) bool { return s.Find != nil }, newFind},
		{"ls", func(s ops.Set) bool { return s.Ls != nil }, newLs},
		{"powershell", func(s ops.Set) bool { return s.PowerShell != nil }, newPowerShell},
	}
}

// Names lists the tools in their fixed order.
func Names() []string {
	var names []string
	for _, b := range builders() {
		names = append(names, b.name)
	}
	return names
}

// DefaultNames lists the tools of a session that names none.
func DefaultNames() []string { return []string{"read", "bash", "edit", "write"} }

// New returns the named tools, in the fixed order, for a workspace. A tool that
// the workspace can't offer is left out; a name that is no tool's is an error.
// Nil names mean all.
func New(set ops.Set, names []string, o Options) ([]tool.Tool, error) {
	if set.Mutations == nil {
		set.Mutations = ops.NewMutations(nil)
	}
	known := Names()
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("unknown tool %q: the tools are %s", n, join(known))
		}
	}
	ws := workspace{set: set, seen: o.Memory, strict: o.Strict}
	if ws.seen == nil {
		ws.seen = NewMemory()
	}
	var list []tool.Tool
	for _, b := range builders() {
		if names != nil && !slices.Contains(names, b.name) || !b.offers(set) {
			continue
		}
		t, err := b.build(ws, o)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", b.name, err)
		}
		list = append(list, t)
	}
	return list, nil
}

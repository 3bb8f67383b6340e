package posix

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/piremote/piremote/tools/match"
	"github.com/piremote/piremote/tools/ops"
)

// Options says which target an Engine works on, and where.
type Options struct {
	// Runner starts the shells. Required.
	Runner Runner
	// Dir is the absolute working folder on the target; empty means "/".
	Dir string
	// Root is the absolute folder that file operations and the working folder
	// of commands are confined to; empty means that they are not.
	Root string
	// ExtraRoots are further absolute folders that may be reached; their paths
	// have no line feeds. They mean nothing without a Root.
	ExtraRoots []ops.Root
	// Label names the target in errors, such as ssh://host/srv/app.
	Label string
	// Backend is the name for Target.Backend, such as ssh.
	Backend string
	// Shell is the POSIX shell that runs the scripts of this package; empty
	// means /bin/sh. It holds nothing but letters, digits and "/._+-".
	Shell string
}

// Engine carries out the operations of tools/ops on one target, in one folder.
// It implements each of them; Set leaves out what the target can't do. All
// methods may be called concurrently.
type Engine struct {
	core      *core
	label     string
	dir, root string     // physical
	extra     []ops.Root // physical
	own       bool       // for a spill file: nothing may be a link
}

// core is what the engines of one connection share.
type core struct {
	runner    Runner
	shell     string
	backend   string
	session   string // nonce in the environment of commands
	probe     Probe
	mutations *ops.Mutations
	// searchBudget is how many bytes of files a search fetches at most.
	searchBudget int64

	spillMu    sync.Mutex
	mu         sync.Mutex
	spillDir   string
	spills     map[string]ops.FileID // by path
	asked      []ops.Root            // extra roots, as they were given
	background bool                  // a finished command left processes behind
	lost       bool                  // a command may go on whose connection was lost
	closed     bool
}

// New probes the target in one round trip and returns an engine for o.Dir. A
// folder that doesn't exist is a *ops.TransportError of KindUnavailable.
func New(ctx context.Context, o Options) (*Engine, error) {
	shell := o.Shell
	if shell == "" {
		shell = "/bin/sh"
	}
	e := &Engine{
		core:  &core{runner: o.Runner, shell: shell, backend: o.Backend, session: nonce(), spills: map[string]ops.FileID{}, searchBudget: match.DefaultBudget},
		label: o.Label,
	}
	if strings.Trim(shell, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-") != "" {
		return nil, e.transport(ops.KindNoShell, e.label+": "+shell+" is no usable path of a shell", nil)
	}
	dir := o.Dir
	if dir == "" {
		dir = "/"
	}
	if err := checkFolders(e, dir, o.Root, o.ExtraRoots...); err != nil {
		return nil, err
	}
	e.core.asked = o.ExtraRoots
	var p Probe
	if err := e.look(ctx, "probe", dir, o.Root, &p); err != nil {
		return nil, err
	}
	if p.Sh == "" {
		p.Sh = shell
	}
	e.core.probe = p
	e.dir, e.root, e.extra = p.Dir, p.Root, p.Extra
	e.core.mutations = ops.NewMutations(e.free().Canonical)
	return e, e.checkInside()
}

// At returns an engine for another folder and root on the same connection. It
// costs one round trip.
func (e *Engine) At(ctx context.Context, dir, root string) (*Engine, error) {
	if err := checkFolders(e, dir, root); err != nil {
		return nil, err
	}
	var p Probe
	if err := e.free().look(ctx, "at", dir, root, &p); err != nil {
		return nil, err
	}
	at := &Engine{core: e.core, label: e.label, dir: p.Dir, root: p.Root, extra: p.Extra}
	return at, at.checkInside()
}

// Probe returns what is known about the target.
func (e *Engine) Probe() Probe {
	p := e.core.probe
	p.Dir, p.Root, p.Extra = e.dir, e.root, e.extra
	return p
}

// confine is the root for scripts: "/" confines nothing.
func (e *Engine) confine() string {
	if e.root == "/" {
		return ""
	}
	return e.root
}

// roots lists all roots for scripts, the innermost of each first: r or w, the path, a
// line feed. It is empty where there is but one, or none.
func (e *Engine) roots() string {
	if e.confine() == "" || len(e.extra) == 0 {
		return ""
	}
	all := append([]ops.Root{{Path: e.root}}, e.extra...)
	slices.SortStableFunc(all, func(a, b ops.Root) int { return len(b.Path) - len(a.Path) })
	var b strings.Builder
	for _, r := range all {
		right := "w"
		if r.ReadOnly {
			right = "r"
		}
		b.WriteString(right + strings.TrimSuffix(r.Path, "/") + "\n")
	}
	return b.String()
}

// free returns the engine without confinement, for paths of our own.
func (e *Engine) free() *Engine {
	return &Engine{core: e.core, label: e.label, dir: e.dir}
}

func (e *Engine) checkInside() error {
	if r := e.confine(); r != "" && e.dir != r && !strings.HasPrefix(e.dir, r+"/") {
		return pathError("open", e.dir, ops.ErrOutside)
	}
	return nil
}

func checkFolders(e *Engine, dir, root string, extra ...ops.Root) error {
	for _, r := range extra {
		if !path.IsAbs(r.Path) || strings.ContainsAny(r.Path, "\x00\n") {
			return e.transport(ops.KindUnavailable, e.label+": the extra root "+strconv.Quote(r.Path)+" must be an absolute path without line feeds", nil)
		}
	}
	for _, p := range []string{dir, root} {
		if p != "" && (!path.IsAbs(p) || strings.ContainsRune(p, 0)) {
			return e.transport(ops.KindUnavailable, e.label+": "+p+" is not an absolute path", nil)
		}
	}
	return nil
}

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// Options describes a workspace on this machine. Only Dir is required.
type Options struct {
	// Dir is the working folder; it must exist.
	Dir string
	// Root is the folder that file operations can't leave; empty means Dir. It
	// is resolved once, when the workspace is opened.
	Root string
	// Unconfined lets file operations reach everything.
	Unconfined bool
	// ExtraRoots are further folders that may be reached.
	ExtraRoots []ops.Root
	// Env is the base environment of commands, as "NAME=value". Nil means
	// nothing but a default PATH: the engine never reads its own environment.
	Env []string
	// Home is the account's home folder; empty if unknown.
	Home string
	// Supervisor is the absolute path of a program that, started with
	// SupervisorArgs, calls supervisor.Run without arguments; one watches over
	// each command. It is started without an environment. Empty means that
	// commands are ended by session, process group, parents and marker alone.
	Supervisor     string
	SupervisorArgs []string
	// SpillDir is where the private folder with full outputs is made; empty
	// means os.TempDir.
	SpillDir string
	// LockDir is the absolute path of a folder with the locks that processes take
	// on the files that they change; it is made if it is missing. Those that name
	// the same one change one file, by its canonical path, one after the other.
	// It must be a folder and no link, belong to this account, and let nobody
	// else write. Empty means that only changes through this workspace wait for
	// each other; on Windows it must be empty.
	LockDir string
	// Label names the workspace in results; empty means local: and the folder.
	Label string
}

// Workspace is an opened workspace. All its methods may be called concurrently.
type Workspace struct {
	options Options
	facts   facts
	jobs    jobs
	spills  spills
	// supervisors wait for commands to watch over.
	supervisors supervisors
	names       tempNames
	locks       locks
	// commands and files are what is let through at a time.
	commands, files gate
	sweeper         sweeper
	main            *view
	// mutations is shared by all views: two of them may name the same file.
	mutations *ops.Mutations

	mu     sync.Mutex
	views  map[viewKey]*view
	closed bool
}

type viewKey struct{ dir, root string }

// Open checks the folders and opens them. A folder that can't be opened, or used
// for locks, is a *ops.TransportError of KindUnavailable that names it.
func Open(ctx context.Context, o Options) (*Workspace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &Workspace{
		options: o, views: map[viewKey]*view{}, mutations: ops.NewMutations(queueKey), supervisors: newSupervisors(),
		commands: make(gate, MaxAtOnce), files: make(gate, MaxAtOnce),
	}
	w.spills.parent = o.SpillDir
	if w.spills.parent == "" {
		w.spills.parent = os.TempDir()
	}
	w.locks.path = o.LockDir
	if err := w.locks.open(ctx); err != nil {
		return nil, err
	}
	w.facts = learnFacts()
	w.names.self = thisWriter()
	v, err := w.newView(o.Dir, o.Root)
	if err != nil {
		return nil, err
	}
	w.main = v
	return w, nil
}

// Set returns the operations. They are valid until Close.
func (w *Workspace) Set() ops.Set { return w.main.set() }

// Close ends the processes that finished commands left behind, with their trees,
// removes the files with full outputs, and closes the folders. It may be called
// more than once. Operations fail afterwards. The error names what could not be
// ended or removed.
func (w *Workspace) Close() error { return w.End(ops.DefaultGrace) }

// End is Close that gives processes so long at most to end by themselves.
func (w *Workspace) End(grace time.Duration) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	views := w.views
	w.mu.Unlock()

	err := w.jobs.close(grace)
	w.supervisors.close()
	if serr := w.spills.close(); err == nil {
		err = serr
	}
	for _, v := range views {
		v.close()
	}
	return err
}

// at returns the operations for another folder of the same workspace.
func (w *Workspace) at(dir, root string) (ops.Set, error) {
	v, err := w.newView(dir, root)
	if err != nil {
		return ops.Set{}, err
	}
	return v.set(), nil
}

// newView opens the folders of a view, or returns the one that has them open.
func (w *Workspace) newView(dir, root string) (*view, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, unavailable(dir, "The workspace is closed", os.ErrClosed)
	}
	key := viewKey{dir, root}
	if v := w.views[key]; v != nil {
		return v, nil
	}
	v, err := openView(w, dir, root)
	if err != nil {
		return nil, err
	}
	w.views[key] = v
	return v, nil
}

// set describes the view to the tools.
func (v *view) set() ops.Set {
	e := engine{v}
	set := ops.Set{
		Target: ops.Target{
			Label: v.label(), Backend: "local", OS: runtime.GOOS,
			Dir: v.dir, Root: v.rootPath(), Home: v.ws.options.Home,
			Roots: v.extraRoots(), Confinement: v.confinement(), Weaker: v.weaker(),
		},
		Read: e, Write: e, Edit: e, Grep: e, Find: e, Ls: e,
		Mutations: v.ws.mutations,
		At:        v.ws.at,
	}
	if v.ws.anyShell() {
		set.Bash, set.PowerShell = e, e
	}
	return set
}

func (v *view) label() string {
	if l := v.ws.options.Label; l != "" && v == v.ws.main {
		return l
	}
	return "local:" + filepath.ToSlash(v.dir)
}

func (v *view) weaker() []string {
	var list []string
	if v.ws.options.Unconfined {
		list = append(list, "File tools are not confined to the workspace.")
	}
	switch {
	case !v.ws.anyShell():
		list = append(list, "There are no commands: there is no shell.")
	case !supervised(v.ws.options):
		list = append(list, blindSpot)
	}
	return list
}

// unavailable is the error of a folder that can't be used.
func unavailable(dir, sentence string, err error) error {
	if err != nil {
		sentence = fmt.Sprintf("%s: %v", sentence, bare(err))
	}
	return &ops.TransportError{Kind: ops.KindUnavailable, Target: "local:" + filepath.ToSlash(dir), Msg: sentence, Err: err}
}

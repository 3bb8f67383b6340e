package opstest

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// Options describes an in-memory workspace.
type Options struct {
	Dir   string // working folder; empty means /ws. It is created.
	Root  string // confinement root; empty means Dir
	Space int64  // bytes that files may hold in all; 0 means no limit
	Now   func() time.Time
}

// Memory is a workspace that lives in memory: a POSIX tree, and a shell that
// runs in it. It is safe for concurrent use, and it is its own fixture for the
// conformance suite.
type Memory struct {
	options Options
	root    *node
	jobs    jobs

	mu     sync.Mutex // guards the tree
	lastID uint64
	stores int64
	used   int64
	spills map[string]bool
}

// NewMemory returns an empty workspace.
func NewMemory(o Options) *Memory {
	if o.Dir == "" {
		o.Dir = "/ws"
	}
	if o.Root == "" {
		o.Root = o.Dir
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Memory{options: o, spills: map[string]bool{}}
	m.root = m.newNode(fs.ModeDir | 0o755)
	for _, dir := range []string{o.Dir, o.Root, "/tmp"} {
		if err := m.Mkdir(dir, 0o755); err != nil {
			panic(fmt.Sprintf("opstest: %v", err)) // an empty tree takes any folder
		}
	}
	return m
}

// Set returns the operations of the workspace.
func (m *Memory) Set() ops.Set { return m.at(m.options.Dir, m.options.Root) }

func (m *Memory) at(dir, root string) ops.Set {
	v := view{Memory: m, confine: root}
	set := ops.Set{
		Target: ops.Target{Label: "memory:" + dir, Backend: "memory", OS: "linux", Dir: dir, Root: root, Home: "/"},
		Read:   v, Write: v, Edit: v, Bash: v, Grep: v, Find: v, Ls: v,
		Mutations: ops.NewMutations(v.Canonical),
	}
	set.At = func(dir, root string) (ops.Set, error) {
		other := m.at(dir, root)
		other.Mutations = set.Mutations
		return other, nil
	}
	return set
}

// Close ends the background processes of finished commands and removes spill
// files.
func (m *Memory) Close() error {
	m.jobs.endAll()
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.spills {
		if at, err := m.walk(p, false); err == nil && at.node != nil {
			m.remove(at)
		}
	}
	clear(m.spills)
	return nil
}

func (m *Memory) newNode(mode fs.FileMode) *node {
	m.lastID++
	n := &node{mode: mode, links: 1, id: m.lastID, modified: m.options.Now()}
	if mode.IsDir() {
		n.children = map[string]*node{}
	}
	return n
}

func (m *Memory) remove(at place) {
	delete(at.parent.children, at.name)
	if at.node.links--; at.node.links == 0 {
		m.used -= int64(len(at.node.data))
	}
}

// store makes data the content of n, or fails for want of space.
func (m *Memory) store(n *node, data []byte) error {
	grown := int64(len(data) - len(n.data))
	if m.options.Space > 0 && m.used+grown > m.options.Space {
		return ops.ErrNoSpace
	}
	m.used += grown
	m.stores++
	n.data, n.modified, n.stored = append([]byte(nil), data...), m.options.Now(), m.stores
	return nil
}

// view is a workspace as seen with one confinement root.
type view struct {
	*Memory
	confine string
}

// find resolves p under the confinement root. The lock is held.
func (v view) find(op, p string, follow bool) (place, error) {
	at, err := v.walk(p, follow)
	if err != nil {
		return place{}, pathError(op, p, err)
	}
	if !within(v.confine, at.canonical) && !v.spills[at.canonical] {
		return place{}, pathError(op, p, ops.ErrOutside)
	}
	return at, nil
}

// existing is find for something that must be there.
func (v view) existing(op, p string, follow bool) (place, error) {
	at, err := v.find(op, p, follow)
	if err != nil {
		return place{}, err
	}
	if err := at.err(); err != nil {
		return place{}, pathError(op, p, err)
	}
	return at, nil
}

// regular is existing for a regular file.
func (v view) regular(op, p string) (place, error) {
	at, err := v.existing(op, p, true)
	if err != nil {
		return place{}, err
	}
	switch {
	case at.node.isDir():
		return place{}, pathError(op, p, ops.ErrIsDir)
	case !at.node.mode.IsRegular():
		return place{}, pathError(op, p, ops.ErrNotRegular)
	}
	return at, nil
}

func (v view) Canonical(ctx context.Context, p string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	at, err := v.find("canonical", path.Clean(p), true)
	return at.canonical, err
}

func pathError(op, p string, err error) error {
	return &fs.PathError{Op: op, Path: p, Err: err}
}

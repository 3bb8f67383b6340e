package opstest

import (
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// maxHops is the number of symbolic links that a path may lead through.
const maxHops = 40

// node is a file, folder, link or special file of the tree.
type node struct {
	mode     fs.FileMode // type and permissions
	data     []byte
	target   string // of a link
	children map[string]*node
	links    int // names of a file
	id       uint64
	modified time.Time
	stored   int64 // which store of content was the last
}

func (n *node) isDir() bool  { return n.mode.IsDir() }
func (n *node) isLink() bool { return n.mode&fs.ModeSymlink != 0 }

func (n *node) info(name string) ops.FileInfo {
	return ops.FileInfo{
		FileName: name, FileSize: int64(len(n.data)), FileMode: n.mode, Modified: n.modified,
		ID: ops.FileID{Device: 1, Inode: n.id},
	}
}

// version tells contents apart whatever the clock says.
func (n *node) version() ops.Version {
	return ops.Version{Size: int64(len(n.data)), Modified: time.Unix(1, n.stored), ID: ops.FileID{Device: 1, Inode: n.id}}
}

// place is where a path leads: the folder that holds the name, and the node if
// it exists.
type place struct {
	canonical string
	parent    *node // nil for the root and below a missing folder
	name      string
	node      *node // nil if missing
	missing   int   // components that do not exist
	notDir    bool  // a component that is no folder has others below it
}

// walk follows p from the root as a kernel would; the last component's link is
// followed if follow is set.
func (m *Memory) walk(p string, follow bool) (place, error) {
	rest := segments(p)
	stack := []*node{m.root}
	var names []string
	hops := 0
	at := place{}
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			if len(names) > 0 {
				names, stack = names[:len(names)-1], stack[:len(stack)-1]
			}
			continue
		}
		top := stack[len(stack)-1]
		var child *node
		switch {
		case top == nil:
			at.missing++
		case !top.isDir():
			at.notDir = true
		default:
			if child = top.children[name]; child == nil {
				at.missing++
			}
		}
		if child != nil && child.isLink() && (follow || len(rest) > 0) {
			if hops++; hops > maxHops {
				return place{}, ops.ErrLoop
			}
			rest = append(segments(child.target), rest...)
			if path.IsAbs(child.target) {
				names, stack = nil, stack[:1]
			}
			continue
		}
		names, stack = append(names, name), append(stack, child)
	}
	at.canonical = "/" + strings.Join(names, "/")
	at.node = stack[len(stack)-1]
	if len(names) > 0 {
		at.parent, at.name = stack[len(stack)-2], names[len(names)-1]
	}
	return at, nil
}

func segments(p string) []string {
	var list []string
	for _, s := range strings.Split(p, "/") {
		if s != "" && s != "." {
			list = append(list, s)
		}
	}
	return list
}

// within reports whether p is root or below it, by segments (hazard CONF-01).
func within(root, p string) bool {
	return root == "" || root == "/" || p == root || strings.HasPrefix(p, root+"/")
}

// err returns the error of a place that should hold something.
func (at place) err() error {
	switch {
	case at.notDir:
		return ops.ErrNotDir
	case at.node == nil:
		return fs.ErrNotExist
	}
	return nil
}

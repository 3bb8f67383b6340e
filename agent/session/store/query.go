package store

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Header returns the session's header.
func (l *Log) Header() Header {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.header
}

// Path is the session's file, empty for one in memory. A new session has no file
// until a user or a model says something; Stored tells.
func (l *Log) Path() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.path
}

// Stored says whether the file exists.
func (l *Log) Stored() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.stored
}

// Repair says what was wrong with the file when it was opened.
func (l *Log) Repair() Repair { return l.repair }

// Entries returns all entries in the order of the file.
func (l *Log) Entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// Entry returns the entry of an id.
func (l *Log) Entry(id string) (Entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, err := l.at(id)
	return e, err == nil
}

func (l *Log) at(id string) (Entry, error) {
	i, ok := l.byID[id]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrNoEntry, id)
	}
	return l.entries[i], nil
}

// Leaf is the id of the entry below which the next one is put; empty is before all
// entries.
func (l *Log) Leaf() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leaf
}

// MoveTo makes an entry the leaf, so that the next one starts a branch there; empty
// goes before all entries. Files don't keep it: a session that is opened starts at
// its last entry.
func (l *Log) MoveTo(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id != "" {
		if _, err := l.at(id); err != nil {
			return err
		}
	}
	l.leaf = id
	return nil
}

// Branch returns the way from the root to an entry, with both. It is empty for an
// id that is empty or not there.
func (l *Log) Branch(id string) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.branch(id)
}

func (l *Log) branch(id string) []Entry {
	var way []Entry
	seen := map[string]bool{} // a file may lie
	for id != "" && !seen[id] {
		seen[id] = true
		e, err := l.at(id)
		if err != nil {
			break
		}
		way = append(way, e)
		id = e.Meta().ParentID
	}
	slices.Reverse(way)
	return way
}

// Name is what the user calls the session; empty if they don't.
func (l *Log) Name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range slices.Backward(l.entries) {
		if e, ok := e.(SessionInfo); ok {
			return strings.TrimSpace(e.Name)
		}
	}
	return ""
}

// Labels returns the labels by the ids of the entries that have them.
func (l *Log) Labels() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	labels := make(map[string]string, len(l.labels))
	for id, one := range l.labels {
		labels[id] = one.text
	}
	return labels
}

// Latest returns the data of the last Custom entry of a type on the way to the
// leaf: the state that some part of the product keeps.
func (l *Log) Latest(customType string) (data []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range slices.Backward(l.branch(l.leaf)) {
		if e, is := e.(Custom); is && e.CustomType == customType {
			return e.Data, true
		}
	}
	return nil, false
}

// Node is an entry in the tree.
type Node struct {
	Entry     Entry
	Label     string
	LabelTime time.Time
	Children  []*Node // the oldest first
}

// Tree returns the roots: entries without a parent, and those whose parent is not
// there.
func (l *Log) Tree() []*Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	nodes := make(map[string]*Node, len(l.entries))
	for _, e := range l.entries {
		id := e.Meta().ID
		nodes[id] = &Node{Entry: e, Label: l.labels[id].text, LabelTime: l.labels[id].time}
	}
	var roots []*Node
	for i, e := range l.entries {
		m := e.Meta()
		if l.byID[m.ID] != i {
			continue // another one took its id
		}
		parent := nodes[m.ParentID]
		if parent == nil || m.ParentID == m.ID {
			roots = append(roots, nodes[m.ID])
			continue
		}
		parent.Children = append(parent.Children, nodes[m.ID])
	}
	for _, n := range nodes {
		slices.SortStableFunc(n.Children, func(a, b *Node) int { return a.Entry.Meta().Time.Compare(b.Entry.Meta().Time) })
	}
	return roots
}

package store

import (
	"encoding/json"
	"slices"
)

// Fork makes a session of the way from the root to an entry, with its labels; the
// entries keep their ids. An empty id takes nothing. The new session names this one
// as its parent. Dir, Path, ID, Clock, NewID and Redact of the options count; Cwd
// and Workspace too, if they are given. A session in memory is forked in memory.
func (l *Log) Fork(at string, o Options) (*Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at != "" {
		if _, err := l.at(at); err != nil {
			return nil, err
		}
	}
	chain, err := unlabelled(l.branch(at))
	if err != nil {
		return nil, err
	}
	fork, err := l.child(o)
	if err != nil {
		return nil, err
	}
	if err := fork.adopt(chain); err != nil {
		return nil, err
	}
	for _, e := range chain {
		id := e.Meta().ID
		one, ok := l.labels[id]
		if !ok {
			continue
		}
		named := Label{Base: Base{ID: fork.freshID(), ParentID: fork.leaf, Time: one.time}, TargetID: id, Label: one.text}
		if err := fork.adopt([]Entry{named}); err != nil {
			return nil, err
		}
	}
	return fork.begun()
}

// Clone makes a session with all entries of this one, branches and all. The options
// count as they do for Fork.
func (l *Log) Clone(o Options) (*Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clone, err := l.child(o)
	if err != nil {
		return nil, err
	}
	if err := clone.adopt(l.entries); err != nil {
		return nil, err
	}
	clone.leaf = l.leaf
	return clone.begun()
}

// child begins the session that is forked from this one.
func (l *Log) child(o Options) (*Log, error) {
	if o.Cwd == "" {
		o.Cwd = l.header.Cwd
	}
	if o.Workspace == nil {
		o.Workspace = l.header.Workspace
	}
	if l.file.memory {
		return InMemory(o), nil
	}
	if l.file.stored {
		o.ParentSession = l.file.path
	}
	return Create(o)
}

// adopt puts entries of another session into this one as they are. They wait for
// the file to be made.
func (l *Log) adopt(entries []Entry) error {
	for _, e := range entries {
		line := e.Meta().line
		if line == nil {
			var err error
			if line, _, err = encode(e, l.options.Redact); err != nil {
				return err
			}
			if e, err = decode(line); err != nil {
				return err
			}
		}
		l.file.pending = append(l.file.pending, line)
		l.index(e)
	}
	return nil
}

// begun is the log with its file, if it is worth one.
func (l *Log) begun() (*Log, error) {
	if l.file.memory {
		l.file.pending = nil
		return l, nil
	}
	if !slices.ContainsFunc(l.entries, talk) {
		return l, nil
	}
	if err := l.file.make(l.header); err != nil {
		return nil, err
	}
	return l, nil
}

// unlabelled is a way without the labels that stand in it, its entries linked
// anew. What a compaction kept from a label on, it keeps from the entry after it on.
func unlabelled(way []Entry) ([]Entry, error) {
	moved := map[string]string{}
	var chain []Entry
	var labels []string
	parent := ""
	for _, e := range way {
		id := e.Meta().ID
		if _, ok := e.(Label); ok {
			labels = append(labels, id)
			continue
		}
		for _, one := range labels {
			moved[one] = id
		}
		labels = nil
		e, err := relinked(e, parent, moved)
		if err != nil {
			return nil, err
		}
		chain, parent = append(chain, e), id
	}
	return slices.Clip(chain), nil
}

func relinked(e Entry, parent string, moved map[string]string) (Entry, error) {
	m := e.Meta()
	kept := ""
	if c, ok := e.(Compaction); ok {
		if kept = moved[c.FirstKeptID]; kept != "" {
			c.FirstKeptID = kept
			e = c
		}
	}
	if m.ParentID == parent && kept == "" {
		return e, nil
	}
	m.ParentID = parent
	if m.line != nil {
		line, err := parseMembers(m.line)
		if err != nil {
			return nil, err
		}
		value := json.RawMessage("null")
		if parent != "" {
			value = quote(parent)
		}
		line = line.set("parentId", value)
		if kept != "" {
			line = line.set("firstKeptEntryId", quote(kept))
		}
		m.line = line.bytes()
	}
	return e.with(m), nil
}

package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piremote/piremote/agent/llm"
)

// Options says how a log is made and written.
type Options struct {
	// Dir is the folder of new files; it is made, for this account alone.
	Dir string
	// Path names the new file, in place of a name in Dir.
	Path string
	// ID is that of the new session; empty makes one.
	ID string
	// Cwd is the folder that the session works in, on the workspace.
	Cwd string
	// Workspace is where its effects happen.
	Workspace *Workspace
	// ParentSession is the file that a new session continues.
	ParentSession string
	// Clock is nil for time.Now.
	Clock func() time.Time
	// NewID makes ids of entries; nil means eight random hexadecimal digits.
	NewID func() string
	// Redact takes secrets out of each string, unescaped, before it is stored. It
	// must be safe for concurrent use. Nil stores what is given.
	Redact func(text []byte) []byte
}

// Log is an open session. Its methods are safe for concurrent use; one at a time
// writes.
type Log struct {
	mu      sync.Mutex
	options Options
	header  Header
	entries []Entry
	byID    map[string]int // into entries; the last one with an id counts
	labels  map[string]label
	leaf    string
	repair  Repair
	file    file
}

type label struct {
	text string
	time time.Time
}

// ErrReadOnly is what changing a log that Read opened gives.
var ErrReadOnly = errors.New("the session was opened for reading only")

// ErrNoEntry says that a session has no entry of an id.
var ErrNoEntry = errors.New("the session has no such entry")

func newLog(o Options) *Log {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = newEntryID
	}
	return &Log{options: o, byID: map[string]int{}, labels: map[string]label{}}
}

// InMemory begins a session that is not stored.
func InMemory(o Options) *Log {
	l := newLog(o)
	l.begin()
	l.file.memory = true
	return l
}

// begin gives a new session its header.
func (l *Log) begin() {
	now := l.options.Clock()
	id := l.options.ID
	if id == "" {
		id = newSessionID(now)
	}
	l.header = Header{
		Version: Version, ID: id, Time: now, Cwd: l.options.Cwd,
		ParentSession: l.options.ParentSession, Workspace: l.options.Workspace,
	}
}

// Append puts an entry below the leaf, stores it and moves the leaf to it. It
// returns the entry as it is stored: with its id, parent and time, redacted. After
// an error nothing has changed, in memory or on disk.
func (l *Log) Append(e Entry) (Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(e)
}

func (l *Log) append(e Entry) (Entry, error) {
	e = e.with(Base{ID: l.freshID(), ParentID: l.leaf, Time: l.options.Clock()})
	e, err := l.checked(e)
	if err != nil {
		return nil, err
	}
	line, redacted, err := encode(e, l.options.Redact)
	if err != nil {
		return nil, err
	}
	if redacted {
		if e, err = decode(line); err != nil {
			return nil, fmt.Errorf("the entry can't be read after its secrets were taken out: %w", err)
		}
	}
	if err := l.file.write(l.header, line, talk(e)); err != nil {
		return nil, err
	}
	l.index(e)
	return e, nil
}

// checked refuses what would make no sense in the tree.
func (l *Log) checked(e Entry) (Entry, error) {
	switch e := e.(type) {
	case Message:
		if e.Message == nil {
			return nil, errors.New("a message entry needs a message")
		}
	case Compaction:
		if e.FirstKeptID == "" {
			e.FirstKeptID = e.ID
		} else if err := l.onBranch(e.FirstKeptID); err != nil {
			return nil, err
		}
		return e, nil
	case ContextEdit:
		if len(e.Replacement) == 0 {
			return nil, errors.New("a context edit needs a replacement: null, or an object with content")
		}
		return e, l.onBranch(e.TargetID)
	case BranchSummary:
		if e.FromID == "" {
			e.FromID = "root"
		}
		return e, nil
	case Label:
		_, err := l.at(e.TargetID)
		return e, err
	case SessionInfo:
		e.Name = strings.Join(strings.FieldsFunc(e.Name, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
		e.Name = strings.TrimSpace(e.Name)
		return e, nil
	case CustomMessage, ModelChange, ThinkingLevelChange, Usage, Custom, Unknown:
	}
	return e, nil
}

func (l *Log) onBranch(id string) error {
	if slices.ContainsFunc(l.branch(l.leaf), func(e Entry) bool { return e.Meta().ID == id }) {
		return nil
	}
	return fmt.Errorf("%w: %q is not on the way to the leaf", ErrNoEntry, id)
}

// talk says whether an entry makes a session worth a file: someone said something.
func talk(e Entry) bool {
	m, ok := e.(Message)
	if !ok {
		return false
	}
	switch m.Message.(type) {
	case *llm.User, *llm.Assistant:
		return true
	case *llm.ToolResult, *llm.BashExecution, *llm.Custom, *llm.BranchSummary, *llm.CompactionSummary, *llm.Other:
	}
	return false
}

func (l *Log) freshID() string {
	for range 100 {
		id := l.options.NewID()
		if _, taken := l.byID[id]; !taken && id != "" {
			return id
		}
	}
	return newSessionID(l.options.Clock())
}

func (l *Log) index(e Entry) {
	m := e.Meta()
	l.byID[m.ID] = len(l.entries)
	l.entries = append(l.entries, e)
	l.leaf = m.ID
	if e, ok := e.(Label); ok {
		if e.Label == "" {
			delete(l.labels, e.TargetID)
		} else {
			l.labels[e.TargetID] = label{e.Label, m.Time}
		}
	}
}

// Sync makes what was appended survive a loss of power. The runtime calls it when a
// run has settled; Close does too.
func (l *Log) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.sync()
}

// Close syncs the file and gives it up. A closed log can still be read.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.close()
}

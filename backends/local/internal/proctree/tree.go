//go:build unix

package proctree

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Process is one entry of the process table.
type Process struct {
	PID, Parent, Group, Session int
	Start                       uint64 // when it began, in the system's unit; with PID it names a process for ever
	Name                        string
	Dead                        bool // ended and not yet reaped
}

// String is "pid name".
func (p Process) String() string { return fmt.Sprintf("%d %s", p.PID, p.Name) }

// ID names a process for ever.
type ID struct {
	PID   int
	Start uint64
}

// ID returns what names the process.
func (p Process) ID() ID { return ID{p.PID, p.Start} }

// Tree says which processes belong to a command. It is a plain value.
type Tree struct {
	// Marker is a "NAME=value" that members carry in their environment; empty
	// if there is none.
	Marker string
	// Leader is the process that was started, as the leader of a session of its
	// own; zero if there is none. Since is its start: nothing older belongs.
	Leader int
	Since  uint64
	// Reaped says that Leader has been reaped, so that its number may mean
	// another process by now.
	Reaped bool
	// Ancestor is a process whose descendants all belong, though not itself;
	// zero if there is none.
	Ancestor int
}

// Members lists the living members.
func (t Tree) Members() ([]Process, error) {
	all, err := list()
	if err != nil {
		return nil, err
	}
	return t.pick(all), nil
}

// MembersAfterExit is Members for a command whose leader has just ended without
// being reaped. It looks only at processes that are younger than the leader,
// where the system can tell which those are.
func (t Tree) MembersAfterExit() ([]Process, error) {
	if young, ok := youngerThan(t.Leader); ok {
		return t.pick(young), nil
	}
	return t.Members()
}

// pick chooses the living members among all.
func (t Tree) pick(all []Process) []Process {
	var candidates []Process
	sessions := map[int]bool{}
	if t.Leader > 1 {
		sessions[t.Leader] = true
	}
	self, group, session := os.Getpid(), unix.Getpgrp(), ownSession()
	for _, p := range all {
		if t.Reaped && p.PID == t.Leader && p.Start != t.Since {
			delete(sessions, t.Leader) // the number has gone to a stranger
		}
		if p.PID <= 1 || p.PID == self || p.PID == t.Ancestor || p.Group == group || p.Session == session || p.Start < t.Since {
			continue
		}
		candidates = append(candidates, p)
	}
	parents := map[int]bool{}
	if t.Ancestor > 1 {
		parents[t.Ancestor] = true
	}
	members := make([]bool, len(candidates))
	checked := make([]bool, len(candidates))
	for changed := true; changed; {
		changed = false
		for i, p := range candidates {
			if members[i] {
				continue
			}
			in := sessions[p.Session] || parents[p.Parent]
			if !in && !checked[i] && t.Marker != "" && !p.Dead {
				checked[i] = true
				in = carries(p.PID, t.Marker)
			}
			if in {
				members[i], changed = true, true
				parents[p.PID] = true
				sessions[p.Session] = true
			}
		}
	}
	var living []Process
	for i, p := range candidates {
		if members[i] && !p.Dead {
			living = append(living, p)
		}
	}
	return living
}

// orphans lists the living processes that are younger than the tree, lost their
// parents, are in a session that began after the tree did, and carry no marker
// of any command: one that left a command's session, lost its parents and cleared
// its environment looks like that, and so does every daemon that somebody else
// started meanwhile. Empty where the marker or the start is not known.
func (t Tree) orphans(all []Process) []Process {
	name, _, ok := strings.Cut(t.Marker, "=")
	if !ok || t.Since == 0 {
		return nil
	}
	table := make(map[int]Process, len(all))
	for _, p := range all {
		table[p.PID] = p
	}
	// An orphan goes to the next ancestor that takes orphans, at last to init.
	takers := map[int]bool{1: true}
	for pid := os.Getppid(); pid > 1 && !takers[pid]; pid = table[pid].Parent {
		takers[pid] = true
	}
	var found []Process
	for _, p := range all {
		leader, known := table[p.Session]
		old := known && leader.Start < t.Since
		if p.Dead || p.PID == t.Leader || p.Start < t.Since || !takers[p.Parent] || old || p.Session == 0 || mentions(p.PID, name) {
			continue
		}
		found = append(found, p)
	}
	return found
}

func ownSession() int {
	s, err := unix.Getsid(0)
	if err != nil {
		return -1
	}
	return s
}

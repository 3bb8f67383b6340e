//go:build unix

package proctree

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Times of ending a tree, besides the grace.
const (
	firstPoll  = 2 * time.Millisecond
	lastPoll   = 40 * time.Millisecond
	stopRounds = 50
	maxNamed   = 5               // processes in one sentence
	settle     = 3 * time.Second // for killed processes to be gone
)

// Report says what ending a tree did.
type Report struct {
	Killed     int      // processes that were found alive and are gone
	Survivors  []string // those that are not, as "pid name"
	Unverified string   // why nobody could look
}

// Terminate ends the tree: TERM, then after the grace all that is left is
// stopped, round by round until nothing new appears, so that nobody can start
// another process in time, and killed. It returns when nothing lives any more,
// or after some seconds. Nobody may reap the leader meanwhile unless Reaped is
// set.
func (t Tree) Terminate(grace time.Duration) Report {
	k := killer{tree: t, seen: map[ID]bool{}}
	if k.each(syscall.SIGTERM, syscall.SIGCONT) > 0 && grace > 0 {
		k.wait(grace, nil)
	}
	stopped := map[ID]bool{}
	for range stopRounds {
		fresh := 0
		for _, p := range k.members() {
			if !stopped[p.ID()] {
				stopped[p.ID()] = true
				fresh++
				send(p, syscall.SIGSTOP)
			}
		}
		if fresh == 0 {
			break
		}
	}
	k.each(syscall.SIGKILL)
	left := k.wait(settle, func(p Process) { send(p, syscall.SIGKILL) })
	r := Report{Killed: len(k.seen) - len(left)}
	for _, p := range left {
		r.Survivors = append(r.Survivors, p.String())
	}
	switch {
	case k.err != nil:
		r.Unverified = fmt.Sprintf("the process table can't be read: %v", k.err)
	case t.Ancestor == 0:
		r.Unverified = t.doubts()
	}
	return r
}

// doubts names the processes that may belong to the tree without showing it.
func (t Tree) doubts() string {
	all, err := list()
	if err != nil {
		return fmt.Sprintf("the process table can't be read: %v", err)
	}
	found := t.orphans(all)
	if len(found) == 0 {
		return ""
	}
	names := make([]string, 0, maxNamed)
	for _, p := range found[:min(len(found), maxNamed)] {
		names = append(names, p.String())
	}
	text := strings.Join(names, ", ")
	if more := len(found) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "without a supervisor nobody can tell whose these are: " + text
}

type killer struct {
	tree Tree
	seen map[ID]bool
	err  error
}

func (k *killer) members() []Process {
	list, err := k.tree.Members()
	if err != nil {
		k.err = err
	}
	for _, p := range list {
		k.seen[p.ID()] = true
	}
	return list
}

func (k *killer) each(signals ...syscall.Signal) int {
	list := k.members()
	if k.err != nil && k.tree.Leader > 1 && !k.tree.Reaped && k.tree.Leader != unix.Getpgrp() {
		// Nobody can look: at least the group, whose leader is not reaped, can be told.
		for _, s := range signals {
			_ = unix.Kill(-k.tree.Leader, s)
		}
	}
	for _, s := range signals {
		for _, p := range list {
			send(p, s)
		}
	}
	return len(list)
}

// wait returns what is left when nothing is, or when the time is over.
func (k *killer) wait(limit time.Duration, again func(Process)) []Process {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		left := k.members()
		if len(left) == 0 {
			return nil
		}
		if again != nil {
			for _, p := range left {
				again(p)
			}
		}
		poll := time.NewTimer(pause)
		select {
		case <-poll.C:
		case <-deadline.C:
			poll.Stop()
			return k.members()
		}
	}
}

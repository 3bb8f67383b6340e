package proctree

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPROC05NeverItselfNorInit builds trees that name processes which must never
// be signalled.
func TestPROC05NeverItselfNorInit(t *testing.T) {
	self, group := os.Getpid(), unix.Getpgrp()
	session, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range []Tree{
		{},
		{Leader: 1},
		{Ancestor: 1},
		{Leader: self},
		{Leader: group},
		{Leader: session},
		{Leader: -1},
		{Leader: 0, Ancestor: 0, Marker: ""},
		{Ancestor: os.Getppid()},
	} {
		members, err := tree.Members()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range members {
			if p.PID <= 1 || p.PID == self || p.Group == group || p.Session == session {
				t.Errorf("%+v has the member %+v", tree, p)
			}
		}
	}
}

// startSleep starts a process in a session of its own, ended with the test.
func startSleep(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	cmd.WaitDelay = time.Second
	cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func TestPROC05ARecycledNumberIsAStranger(t *testing.T) {
	cmd := startSleep(t)
	start, err := Start(cmd.Process.Pid)
	if err != nil || start == 0 {
		t.Fatal(start, err)
	}
	for _, c := range []struct {
		tree Tree
		want int
	}{
		{Tree{Leader: cmd.Process.Pid, Since: start}, 1},
		{Tree{Leader: cmd.Process.Pid, Since: start, Reaped: true}, 1},
		{Tree{Leader: cmd.Process.Pid, Since: start - 1, Reaped: true}, 0}, // the leader began earlier and was reaped
		{Tree{Leader: cmd.Process.Pid, Since: start + 1}, 0},               // older than the tree
	} {
		members, err := c.tree.Members()
		if err != nil || len(members) != c.want {
			t.Errorf("%+v: %v, %v", c.tree, members, err)
		}
	}
	// A signal goes to the process that was meant, or nowhere.
	send(Process{PID: cmd.Process.Pid, Start: start + 1}, syscall.SIGKILL)
	if now, err := Start(cmd.Process.Pid); err != nil || now != start {
		t.Errorf("it was killed: %v", err)
	}
	if r := (Tree{Leader: cmd.Process.Pid, Since: start}).Terminate(time.Second); r.Killed != 1 || len(r.Survivors) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestPROC04MarkerIsAWholeVariable(t *testing.T) {
	cmd := startSleep(t, "CALL=abc")
	for marker, want := range map[string]bool{"CALL=abc": true, "CALL=ab": false, "ALL=abc": false, "CALL=abcd": false} {
		members, err := (Tree{Marker: marker}).Members()
		found := false
		for _, p := range members {
			found = found || p.PID == cmd.Process.Pid
		}
		if err != nil || found != want {
			t.Errorf("%s: %v, %v", marker, found, err)
		}
	}
	if !mentions(cmd.Process.Pid, "CALL") || mentions(cmd.Process.Pid, "CAL") || mentions(cmd.Process.Pid, "ALL") {
		t.Error("mentions")
	}
}

func TestPROC04OrphansThatMayBelong(t *testing.T) {
	const since, leader = 100, 50
	parent := os.Getppid()
	base := []Process{{PID: 1, Start: 1}, {PID: os.Getpid(), Parent: parent, Start: 10}, {PID: parent, Parent: 1, Start: 5}}
	for name, c := range map[string]struct {
		p     Process
		doubt bool
	}{
		"of init, a session of its own":     {Process{PID: 1 << 23, Parent: 1, Session: 1 << 23, Start: since}, true},
		"of an ancestor that takes orphans": {Process{PID: 1 << 23, Parent: parent, Session: 1<<23 + 1, Start: since + 1}, true},
		"older":                             {Process{PID: 1 << 23, Parent: 1, Session: 1 << 23, Start: since - 1}, false},
		"dead":                              {Process{PID: 1 << 23, Parent: 1, Session: 1 << 23, Start: since, Dead: true}, false},
		"child of a stranger":               {Process{PID: 1 << 23, Parent: 1<<23 - 1, Session: 1 << 23, Start: since}, false},
		"in a session that is older than command": {Process{PID: 1 << 23, Parent: 1, Session: parent, Start: since}, false},
		"a thread of the kernel":                  {Process{PID: 1 << 23, Parent: 1, Session: 0, Start: since}, false},
	} {
		got := (Tree{Marker: "A=b", Leader: leader, Since: since}).orphans(append(base, c.p))
		if (len(got) == 1) != c.doubt {
			t.Errorf("%s: %v", name, got)
		}
	}
}

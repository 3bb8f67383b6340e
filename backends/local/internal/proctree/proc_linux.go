package proctree

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// nearby is the largest distance of process numbers that is looked at one by
// one; beyond it reading the whole table is cheaper.
const nearby = 64

// Start returns when a process began.
func Start(pid int) (uint64, error) {
	p, err := read(pid, make([]byte, 1024))
	return p.Start, err
}

func list() ([]Process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 1024)
	var all []Process
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := read(pid, buf); err == nil {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("/proc shows no process")
	}
	return all, nil
}

// youngerThan lists the processes whose numbers were given out after pid's,
// when these are few. Numbers are given out in turn; the last one is the final
// field of /proc/loadavg.
func youngerThan(pid int) ([]Process, bool) {
	buf := make([]byte, 1024)
	n, err := readFile("/proc/loadavg", buf)
	if err != nil {
		return nil, false
	}
	fields := bytes.Fields(buf[:n])
	if len(fields) == 0 {
		return nil, false
	}
	last, err := strconv.Atoi(string(fields[len(fields)-1]))
	if err != nil || last < pid || last-pid > nearby {
		return nil, false
	}
	var young []Process
	for other := pid + 1; other <= last; other++ {
		if p, err := read(other, buf); err == nil {
			young = append(young, p)
		}
	}
	return young, true
}

// read parses /proc/<pid>/stat. The name, in parentheses, may hold anything.
func read(pid int, buf []byte) (Process, error) {
	n, err := readFile("/proc/"+strconv.Itoa(pid)+"/stat", buf)
	if err != nil {
		return Process{}, err
	}
	line := buf[:n]
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return Process{}, syscall.EIO
	}
	p := Process{PID: pid, Name: string(line[open+1 : end])}
	// After the name: state ppid pgrp session … with the start as 20th.
	fields := bytes.Fields(line[end+1:])
	if len(fields) < 20 {
		return Process{}, syscall.EIO
	}
	p.Dead = slices.Contains([]string{"Z", "X", "x"}, string(fields[0]))
	p.Parent, _ = strconv.Atoi(string(fields[1]))
	p.Group, _ = strconv.Atoi(string(fields[2]))
	p.Session, _ = strconv.Atoi(string(fields[3]))
	p.Start, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return p, err
}

func readFile(name string, buf []byte) (int, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		n, err := unix.Read(fd, buf)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}

// mentions reports whether a process was started with some value of a variable.
func mentions(pid int, name string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	start := []byte(name + "=")
	return bytes.HasPrefix(env, start) || bytes.Contains(env, append([]byte{0}, start...))
}

// carries reports whether a process was started with the marker in its
// environment, as far as that can be read.
func carries(pid int, marker string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	want := []byte(marker + "\x00")
	return bytes.HasPrefix(env, want) || bytes.Contains(env, append([]byte{0}, want...))
}

// send signals the very process that was listed, and never one that has its
// number now.
func send(p Process, sig syscall.Signal) {
	if p.PID <= 1 {
		return
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		if start, serr := Start(p.PID); serr == nil && start == p.Start && !errors.Is(err, unix.ESRCH) {
			_ = unix.Kill(p.PID, sig)
		}
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if start, err := Start(p.PID); err != nil || start != p.Start {
		return
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); errors.Is(err, unix.ENOSYS) {
		_ = unix.Kill(p.PID, sig)
	}
}

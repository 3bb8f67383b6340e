package supervisor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/local/internal/proctree"
)

// Descriptors that the supervisor is started with, besides 0 to 2.
const (
	reportFD = 3
	scriptFD = 4
)

// orphanGrace is the grace when nobody is left to ask for another.
const orphanGrace = 500 * time.Millisecond

// usageStatus is the exit status for arguments that can't be understood.
const usageStatus = 2

// Run is the whole program: it takes the arguments after the program's name and
// returns the exit status. It must be the only thing that the process does.
func Run(args []string, stderr io.Writer) int {
	o, program, argv, err := parse(args)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "supervisor:", err)
		return usageStatus
	}
	unix.CloseOnExec(reportFD)
	s := &supervisor{options: o, reports: json.NewEncoder(os.NewFile(reportFD, "reports"))}
	if err := s.start(program, argv); err != nil {
		var code syscall.Errno
		_ = errors.As(err, &code)
		s.report(Report{Error: &StartError{Path: program, Code: int(code)}})
		return 1
	}
	go s.obey(os.Stdin)
	s.reap()
	// Nothing lives any more. An order that is being carried out answers first.
	s.ending.Lock()
	return 0
}

type supervisor struct {
	options Options
	tree    proctree.Tree

	sending sync.Mutex
	reports *json.Encoder

	ending sync.Mutex // held while the tree is being ended
	kept   bool       // what is left is not to be ended
}

func (s *supervisor) report(r Report) {
	s.sending.Lock()
	defer s.sending.Unlock()
	_ = s.reports.Encode(r) // nobody may be listening any more
}

// start runs the program in a session of its own and gives its output away, so
// that the supervisor does not hold it.
func (s *supervisor) start(program string, args []string) error {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	files := []uintptr{uintptr(null), 1, 2}
	if s.options.Script {
		files = append(files, scriptFD)
	}
	pid, err := syscall.ForkExec(program, append([]string{program}, args...), &syscall.ProcAttr{ //nolint:gosec // running what it is told is its task
		Env: os.Environ(), Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	// What the command does to its parent must not end the watch over it. Not
	// before it was started: it would inherit that.
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	for fd := 1; fd <= 2; fd++ {
		err = errors.Join(err, unix.Dup3(null, fd, 0))
	}
	if s.options.Script {
		_ = unix.Close(scriptFD)
	}
	if err != nil {
		return err
	}
	s.tree = proctree.Tree{Marker: s.options.Marker, Leader: pid, Reaped: true, Ancestor: os.Getpid()}
	s.tree.Since, _ = proctree.Start(pid) // nobody has reaped it yet
	s.report(Report{Started: &Started{PID: pid, Start: s.tree.Since}})
	return nil
}

// reap waits for every process of the tree, since all become children of this
// one in the end, and reports the end of the first.
func (s *supervisor) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return // no children: nothing lives any more
		case pid != s.tree.Leader:
			continue
		}
		left := s.childrenLeft()
		if s.options.Keep {
			s.ending.Lock() // from here on nothing is ended any more
			s.kept = true
			s.ending.Unlock()
		}
		s.report(Report{Exit: &Exit{Status: uint32(ws), Left: left}})
		if !left || s.options.Keep {
			return
		}
	}
}

// childrenLeft reaps what has ended and reports whether anything lives.
func (s *supervisor) childrenLeft() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return false
		case pid == 0:
			return true
		}
	}
}

// obey ends the tree as often as it is told to, and when nobody can tell any
// more.
func (s *supervisor) obey(orders io.Reader) {
	lines := bufio.NewReaderSize(orders, 64)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			s.end(orphanGrace)
			return
		}
		ms, err := strconv.ParseInt(strings.TrimSpace(line), 10, 32)
		if err != nil {
			continue
		}
		s.end(time.Duration(ms) * time.Millisecond)
	}
}

func (s *supervisor) end(grace time.Duration) {
	s.ending.Lock()
	defer s.ending.Unlock()
	if s.kept {
		return
	}
	r := s.tree.Terminate(grace)
	s.report(Report{Ended: &Ended{Killed: r.Killed, Survivors: r.Survivors, Unverified: r.Unverified}})
}

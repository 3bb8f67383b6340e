package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/local/internal/proctree"
)

// orphanGrace is the grace when nobody is left to ask for another.
const orphanGrace = 500 * time.Millisecond

// usageStatus is the exit status for a start that can't be understood.
const usageStatus = 2

// Run is the whole program: it takes the arguments after the program's name, of
// which there must be none, and returns the exit status. It must be the only
// thing that the process does.
func Run(args []string, stderr io.Writer) int {
	s := &supervisor{channel: 0, starts: make(chan request)}
	err := s.prepare(args)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "supervisor:", err)
		return usageStatus
	}
	go s.obey()
	for r := range s.starts {
		if !s.run(r) {
			break
		}
	}
	// Nothing lives any more. An order that is being carried out answers first.
	s.ending.Lock()
	return 0
}

type supervisor struct {
	channel channel
	null    int
	starts  chan request

	sending sync.Mutex

	mu       sync.Mutex
	tree     proctree.Tree // of the command that runs; zero if none does
	running  bool
	orphaned bool // nobody can ask for anything any more

	ending sync.Mutex // held while the tree is being ended
	kept   bool       // what is left is not to be ended
}

// request is a command to be started.
type request struct {
	start Start
	files []int
}

func (s *supervisor) prepare(args []string) (err error) {
	if len(args) > 0 {
		return errors.New("unknown argument " + args[0])
	}
	if kind, err := unix.GetsockoptInt(int(s.channel), unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_STREAM {
		return errors.New("standard input is no channel: this program is started by the engine alone")
	}
	unix.CloseOnExec(int(s.channel))
	if s.null, err = unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	// What a command does to its parent must not end the watch over it. The
	// signals are caught, not ignored, since commands would inherit the latter.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE,
		syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM)
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

func (s *supervisor) report(kind Kind, fields ...string) {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.channel.send(Message{kind, fields})
}

// run runs one command to the end of its tree and reports whether another one
// may follow: not if anything was left of this one.
func (s *supervisor) run(r request) (again bool) {
	leader, err := s.launch(r)
	if err != nil {
		var code syscall.Errno
		_ = errors.As(err, &code)
		s.report(KindFailed, strconv.Itoa(int(code)))
		return true
	}
	return s.reap(leader, r.start.Keep)
}

var errOrphaned = errors.New("nobody wants it any more")

// launch starts the program in a session of its own and gives its files away, so
// that the supervisor does not hold them.
func (s *supervisor) launch(r request) (int, error) {
	defer closeAll(r.files)
	output, dir := r.files[0], r.start.Dir
	if dir == "" {
		dir = "/proc/self/fd/" + strconv.Itoa(r.files[1])
	}
	files := []uintptr{uintptr(s.null), uintptr(output), uintptr(output)}
	if len(r.files) == maxPassed {
		files = append(files, uintptr(r.files[2]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orphaned {
		return 0, errOrphaned
	}
	pid, err := syscall.ForkExec(r.start.Program, append([]string{r.start.Program}, r.start.Args...), &syscall.ProcAttr{ //nolint:gosec // running what it is told is its task
		Dir: dir, Env: r.start.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, err
	}
	s.tree = proctree.Tree{Marker: r.start.Marker, Leader: pid, Reaped: true, Ancestor: os.Getpid()}
	s.tree.Since, _ = proctree.Start(pid) // nobody has reaped it yet
	s.running = true
	s.report(KindStarted, strconv.Itoa(pid), strconv.FormatUint(s.tree.Since, 10))
	return pid, nil
}

// reap waits for every process of the tree, since all become children of this
// one in the end, and reports the end of the first.
func (s *supervisor) reap(leader int, keep bool) (again bool) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return false // no children: nothing lives any more
		case pid != leader:
			continue
		}
		if !s.childrenLeft() {
			s.mu.Lock()
			s.running = false
			s.mu.Unlock()
			s.report(KindExit, strconv.Itoa(int(ws)))
			return true
		}
		if keep {
			s.ending.Lock() // from here on nothing is ended any more
			s.kept = true
			s.ending.Unlock()
		}
		s.report(KindExit, strconv.Itoa(int(ws)), left)
		if keep {
			return false
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

// obey passes on what is to be started, and ends the tree as often as it is told
// to, and when nobody can tell any more.
func (s *supervisor) obey() {
	defer close(s.starts)
	for {
		m, files, err := s.channel.receive()
		if err != nil {
			s.mu.Lock()
			s.orphaned = true
			s.mu.Unlock()
			s.end(orphanGrace)
			return
		}
		switch m.Kind {
		case KindStart:
			start, err := m.start()
			if err != nil || len(files) < 2 {
				closeAll(files)
				s.report(KindFailed, strconv.Itoa(int(unix.EPROTO)))
				continue
			}
			s.starts <- request{start, files}
		case KindEnd:
			s.end(time.Duration(m.Int(0)) * time.Millisecond)
		case KindStarted, KindFailed, KindExit, KindEnded: // reports mean nothing in this direction
		}
	}
}

// end ends the tree and tells what that did.
func (s *supervisor) end(grace time.Duration) {
	s.ending.Lock()
	defer s.ending.Unlock()
	s.mu.Lock()
	tree, running := s.tree, s.running
	s.mu.Unlock()
	if s.kept {
		return
	}
	var r proctree.Report
	if running {
		r = tree.Terminate(grace)
	}
	s.report(KindEnded, append([]string{strconv.Itoa(r.Killed), r.Unverified}, r.Survivors...)...)
}

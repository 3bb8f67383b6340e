package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/local/supervisor"
	"github.com/piremote/piremote/tools/ops"
)

const (
	// maxIdle is the number of supervisors that are kept for commands to come.
	maxIdle = 4
	// maxFresh is the number of supervisors that are started at a time. Starting one
	// takes a processor as long as starting a shell: among many commands, the later
	// ones had better wait for a supervisor of those that end meanwhile.
	maxFresh = 4
)

// supervisors are those that wait for a command. One that is taken watches over
// one command, and comes back when nothing of that lives.
type supervisors struct {
	idle  chan *watcher
	fresh chan struct{} // a token for each that is being started

	mu     sync.Mutex
	closed bool
	live   map[*watcher]struct{} // those that have not ended
}

func newSupervisors() supervisors {
	return supervisors{idle: make(chan *watcher, maxIdle), fresh: make(chan struct{}, maxFresh), live: map[*watcher]struct{}{}}
}

// watcher is a running supervisor.
type watcher struct {
	process *os.Process
	channel *os.File
	gone    chan struct{} // closed when it has ended and is reaped
	orderly bool          // how it ended; written before gone is closed

	mu  sync.Mutex
	job *supervisedProcess // what it watches over
}

// take returns an idle supervisor, or starts one. The caller of a fresh one calls
// settled when it has started its command or failed to.
func (s *supervisors) take(ctx context.Context, o Options) (w *watcher, fresh bool, err error) {
	for {
		select {
		case w = <-s.idle:
		default:
			select {
			case w = <-s.idle:
			case s.fresh <- struct{}{}:
				if w, err = s.start(o); err != nil {
					s.settled()
				}
				return w, true, err
			case <-ctx.Done():
				return nil, false, context.Cause(ctx)
			}
		}
		if !w.ended() {
			return w, false, nil
		}
	}
}

// settled lets the next supervisor be started.
func (s *supervisors) settled() { <-s.fresh }

// give takes a supervisor back that watches over nothing.
func (s *supervisors) give(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		select {
		case s.idle <- w:
			return
		default:
		}
	}
	w.dismiss()
}

// close sends the idle ones away and waits for the end of all: who watches over
// nothing any more goes by itself.
func (s *supervisors) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for len(s.idle) > 0 {
		(<-s.idle).dismiss()
	}
	s.mu.Lock()
	live := slices.Collect(maps.Keys(s.live))
	s.mu.Unlock()
	for _, w := range live {
		if !await(w.gone, supervisorSlack) {
			_ = w.process.Kill() // somebody stopped it
			<-w.gone
		}
	}
}

// start starts a supervisor.
func (s *supervisors) start(o Options) (*watcher, error) {
	w, err := startWatcher(o)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.live[w] = struct{}{}
	s.mu.Unlock()
	go func() {
		w.listen()
		s.mu.Lock()
		delete(s.live, w)
		s.mu.Unlock()
	}()
	return w, nil
}

// startWatcher starts a supervisor in a session of its own, to be listened to. It has no
// environment and stays in no folder; both come with each command.
func startWatcher(o Options) (*watcher, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		_, _ = unix.Close(pair[0]), unix.Close(pair[1])
		return nil, err
	}
	channel, end := os.NewFile(uintptr(pair[0]), "channel"), os.NewFile(uintptr(pair[1]), "channel")
	defer func() { _ = end.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		_ = channel.Close()
		return nil, err
	}
	defer func() { _ = null.Close() }()
	p, err := os.StartProcess(o.Supervisor, append([]string{o.Supervisor}, o.SupervisorArgs...), &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{end, null, null}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = channel.Close()
		return nil, noSupervisor(o, fmt.Sprintf("can't be started: %v", bare(err)), err)
	}
	return &watcher{process: p, channel: channel, gone: make(chan struct{})}, nil
}

func noSupervisor(o Options, what string, err error) error {
	return &ops.TransportError{
		Kind: ops.KindUnavailable, Target: "local", Err: err, Msg: fmt.Sprintf("The supervisor %s %s", o.Supervisor, what),
	}
}

func (w *watcher) ended() bool {
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

// dismiss lets the supervisor go: at once if nothing of its command lives, else
// when it has ended that.
func (w *watcher) dismiss() { _ = w.channel.Close() }

func (w *watcher) watch(job *supervisedProcess) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.job = job
}

func (w *watcher) current() *supervisedProcess {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.job
}

// listen passes on what the supervisor reports, until it ends.
func (w *watcher) listen() {
	defer close(w.gone)
	reports := bufio.NewReaderSize(w.channel, 512)
	for {
		m, err := supervisor.Read(reports)
		if err != nil {
			break
		}
		if job := w.current(); job != nil {
			job.heard(m)
		}
	}
	if state, err := w.process.Wait(); err == nil {
		w.orderly = state.Success()
	}
	_ = w.channel.Close()
	if job := w.current(); job != nil {
		job.deserted()
	}
}

// tell sends a message, and descriptors with its first byte.
func (w *watcher) tell(m supervisor.Message, fds ...int) error {
	conn, err := w.channel.SyscallConn()
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	b := m.Encode()
	cerr := conn.Write(func(fd uintptr) bool {
		for len(b) > 0 {
			var n int
			n, err = unix.SendmsgN(int(fd), b, rights, nil, unix.MSG_NOSIGNAL)
			switch {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				return false
			case err != nil:
				return true
			default:
				b, rights = b[n:], nil
			}
		}
		return true
	})
	return errors.Join(cerr, err)
}

// supervisorSlack is how much longer than its own times a supervisor is waited
// for.
const supervisorSlack = 5 * time.Second

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/piremote/piremote/backends/local/internal/proctree"
	"github.com/piremote/piremote/backends/local/supervisor"
	"github.com/piremote/piremote/tools/ops"
)

// notOne is what a program does that is no supervisor.
const notOne = "ended at once: it must be a program that calls supervisor.Run"

// startSupervised starts the command below a supervisor. One that was killed
// while it was idle is replaced: it has started nothing.
func (w *Workspace) startSupervised(ctx context.Context, l *launch) (process, error) {
	for {
		above, fresh, err := w.supervisors.take(ctx, w.options)
		if err != nil {
			return nil, err
		}
		s, err := w.startBelow(ctx, l, above)
		if fresh {
			w.supervisors.settled()
		}
		switch {
		case err == nil:
			return s, nil
		case errors.Is(err, errUntold) && !fresh:
		case (errors.Is(err, errUntold) || errors.Is(err, errDeserted)) && fresh && noRoom():
			return nil, fmt.Errorf("the supervisor ended: %w", syscall.EAGAIN)
		case errors.Is(err, errUntold), errors.Is(err, errDeserted) && fresh:
			return nil, noSupervisor(w.options, notOne, err)
		case errors.Is(err, errDeserted):
			s.tree.Terminate(0) // it may have started something without telling
			return nil, noSupervisor(w.options, "was killed before it had started the command", err)
		default:
			return nil, err
		}
	}
}

// startBelow starts the command below this supervisor. After an error it watches
// over nothing any more.
func (w *Workspace) startBelow(ctx context.Context, l *launch, above *watcher) (*supervisedProcess, error) {
	s := &supervisedProcess{
		pool: &w.supervisors, above: above, shell: l.shell, keep: l.background == ops.BackgroundKeep,
		tree:    proctree.Tree{Marker: l.marker(), Reaped: true},
		started: make(chan error, 1), done: make(chan struct{}), killed: make(chan killReport, 1),
	}
	above.watch(s)
	if err := above.tell(w.startMessage(l, s.keep), l.descriptors()...); err != nil {
		above.dismiss()
		<-above.gone
		return s, fmt.Errorf("%w: %w", errUntold, err)
	}
	err := s.await(ctx)
	if err != nil {
		s.release()
	}
	return s, err
}

// errUntold is the error of a command that never reached its supervisor.
var errUntold = errors.New("the supervisor did not hear of the command")

func (w *Workspace) startMessage(l *launch, keep bool) supervisor.Message {
	start := supervisor.Start{Marker: l.marker(), Keep: keep, Program: l.shell, Args: l.args, Env: l.env}
	if !w.facts.proc {
		start.Dir = l.dirPath
	}
	return start.Message()
}

// descriptors are what travels to a supervisor.
func (l *launch) descriptors() []int {
	fds := []int{int(l.output.Fd()), int(l.dir.Fd())}
	if l.script != nil {
		fds = append(fds, int(l.script.Fd()))
	}
	return fds
}

// supervisedProcess is a command with a supervisor above it.
type supervisedProcess struct {
	pool  *supervisors
	above *watcher
	shell string
	tree  proctree.Tree // for the case that the supervisor dies
	keep  bool

	started chan error
	done    chan struct{} // the command has ended, or nobody can tell any more
	killed  chan killReport

	// Written before done is closed.
	status  status
	exited  bool
	members bool

	ordered  bool // it was told to end something
	released bool
}

// errDeserted is the error of a command whose supervisor ended before it said
// that the command had started.
var errDeserted = errors.New("the supervisor ended before the command had started")

// startLimit is how long a supervisor may take to start a command. One that
// takes longer was stopped. Once nobody wants the command any more it has
// startPatience to say that it had started it: then the tree is ended as any other.
const (
	startLimit    = 30 * time.Second
	startPatience = time.Second
)

// await waits until the command has started, or can't be. When it returns an
// error nothing runs.
func (s *supervisedProcess) await(ctx context.Context) error {
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	err := fmt.Errorf("the supervisor did not start the command within %v", startLimit)
	select {
	case err := <-s.started:
		return err
	case <-ctx.Done():
		err = ctx.Err()
		limit.Reset(startPatience)
		select {
		case err := <-s.started:
			return err
		case <-limit.C:
		}
	case <-limit.C:
	}
	_ = s.above.process.Kill() // it may be about to start it
	<-s.above.gone
	s.fallback(0)
	return err
}

// heard takes a report of the supervisor.
func (s *supervisedProcess) heard(m supervisor.Message) {
	switch m.Kind {
	case supervisor.KindFailed:
		s.exited = true // and nothing is left
		close(s.done)
		s.started <- &os.PathError{Op: "start", Path: s.shell, Err: syscall.Errno(m.Int(0))} //nolint:gosec // an errno
	case supervisor.KindStarted:
		s.tree.Leader = int(m.Int(0))
		s.tree.Since, _ = strconv.ParseUint(m.Text(1), 10, 64)
		s.started <- nil
	case supervisor.KindExit:
		s.status = statusOf(syscall.WaitStatus(m.Int(0))) //nolint:gosec // 32 bits
		s.exited, s.members = true, m.Left()
		close(s.done)
	case supervisor.KindEnded:
		r := killReport{killed: int(m.Int(0)), unverified: m.Text(1)}
		if len(m.Fields) > 2 {
			r.survivors = m.Fields[2:]
		}
		select {
		case s.killed <- r:
		default: // nobody waits for it any more
		}
	case supervisor.KindStart, supervisor.KindEnd: // orders mean nothing in this direction
	}
}

// deserted says that the supervisor has ended.
func (s *supervisedProcess) deserted() {
	select {
	case s.started <- errDeserted:
	default:
	}
	if !s.exited {
		close(s.done)
	}
}

func (s *supervisedProcess) ended() <-chan struct{} { return s.done }

func (s *supervisedProcess) left() bool {
	// A supervisor of what is kept goes at once; one that was killed ends nothing.
	return s.members && (s.keep || !s.above.ended() || !s.above.orderly)
}

func (s *supervisedProcess) terminate(grace time.Duration) killReport {
	s.ordered = true
	select {
	case <-s.killed: // of an earlier order
	default:
	}
	if err := s.above.tell(supervisor.Message{Kind: supervisor.KindEnd, Fields: []string{strconv.FormatInt(grace.Milliseconds(), 10)}}); err != nil {
		return s.fallback(grace)
	}
	limit := time.NewTimer(grace + supervisorSlack)
	defer limit.Stop()
	select {
	case r := <-s.killed:
		return r
	case <-s.above.gone:
		select {
		case r := <-s.killed: // it answered before it went
			return r
		default:
		}
	case <-limit.C:
	}
	return s.fallback(grace)
}

// fallback ends the tree without the supervisor, when that was killed or
// stopped.
func (s *supervisedProcess) fallback(grace time.Duration) killReport {
	if s.above.ended() && s.above.orderly && !s.keep {
		return killReport{} // it went because nothing lives any more
	}
	r := reportOf(s.tree.Terminate(grace))
	if r.unverified == "" {
		r.unverified = "the supervisor of the command was killed; what had left the command's session unmarked can't be found"
	}
	if !s.above.ended() {
		_ = s.above.process.Kill()
		<-s.above.gone
	}
	return r
}

func (s *supervisedProcess) finish(limit time.Duration) (status, error) {
	if !await(s.done, limit) {
		return status{code: 128 + int(syscall.SIGKILL), signal: "KILL"}, noStatus("the command can't be killed")
	}
	if !s.exited {
		s.tree.Terminate(0)
		return status{code: -1}, noStatus("the supervisor of the command was killed")
	}
	return s.status, nil
}

// release gives the supervisor back if nothing of its command lives, else sends
// it away.
func (s *supervisedProcess) release() {
	if s.released {
		return
	}
	s.released = true
	clean := false
	select {
	case <-s.done:
		clean = s.exited && !s.members && !s.ordered
	default:
	}
	if !clean {
		s.above.dismiss()
		return
	}
	s.above.watch(nil)
	s.pool.give(s.above)
}

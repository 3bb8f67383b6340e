package local

import (
	"encoding/json"
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

// supervisorSlack is how much longer than its own times a supervisor is waited
// for.
const supervisorSlack = 5 * time.Second

// startSupervised starts the command below a supervisor, which is told what to
// do through its input and answers on descriptor 3.
func (w *Workspace) startSupervised(l *launch) (process, error) {
	control, controlEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	statusEnd, reports, err := os.Pipe()
	if err != nil {
		_, _ = control.Close(), controlEnd.Close()
		return nil, err
	}
	o := supervisor.Options{Script: l.script != nil, Keep: l.background == ops.BackgroundKeep, Marker: l.marker()}
	files := []*os.File{control, l.output, l.output, reports}
	if l.script != nil {
		files = append(files, l.script)
	}
	args := append(append([]string{}, w.options.SupervisorArgs...), o.Args(l.shell, l.args)...)
	p, err := w.startProcess(l, w.options.Supervisor, args, files)
	_, _ = control.Close(), reports.Close()
	if err != nil {
		_, _ = controlEnd.Close(), statusEnd.Close()
		return nil, &ops.TransportError{
			Kind: ops.KindUnavailable, Target: "local", Err: err,
			Msg: fmt.Sprintf("The supervisor %s can't be started: %v", w.options.Supervisor, bare(err)),
		}
	}
	s := &supervisedProcess{
		process: p, control: controlEnd, keep: o.Keep, tree: proctree.Tree{Marker: l.marker(), Reaped: true},
		started: make(chan error, 1), done: make(chan struct{}), gone: make(chan struct{}), killed: make(chan killReport, 1),
	}
	go s.listen(statusEnd)
	if err := <-s.started; err != nil {
		s.release()
		<-s.gone
		return nil, err
	}
	return s, nil
}

// supervisedProcess is a command with a supervisor above it.
type supervisedProcess struct {
	process *os.Process
	control *os.File
	tree    proctree.Tree // for the case that the supervisor dies

	started chan error
	done    chan struct{} // the command has ended, or nobody can tell any more
	gone    chan struct{} // the supervisor has ended and is reaped
	killed  chan killReport

	// Written before done is closed.
	status  status
	exited  bool
	members bool

	orderly bool // how the supervisor ended; written before gone is closed
	keep    bool
}

// listen reads what the supervisor reports, until it ends.
func (s *supervisedProcess) listen(reports *os.File) {
	defer close(s.gone)
	decoder := json.NewDecoder(reports)
	for {
		var r supervisor.Report
		if err := decoder.Decode(&r); err != nil {
			break
		}
		switch {
		case r.Error != nil:
			s.started <- &os.PathError{Op: "start", Path: r.Error.Path, Err: syscall.Errno(r.Error.Code)}
		case r.Started != nil:
			s.tree.Leader, s.tree.Since = r.Started.PID, r.Started.Start
			s.started <- nil
		case r.Exit != nil:
			s.status = statusOf(syscall.WaitStatus(r.Exit.Status))
			s.exited, s.members = true, r.Exit.Left
			close(s.done)
		case r.Ended != nil:
			s.killed <- killReport{killed: r.Ended.Killed, survivors: r.Ended.Survivors, unverified: r.Ended.Unverified}
		}
	}
	_ = reports.Close()
	if state, err := s.process.Wait(); err == nil {
		s.orderly = state.Success()
	}
	select {
	case s.started <- errors.New("the supervisor ended at once"):
	default:
	}
	if !s.exited {
		close(s.done)
	}
}

func (s *supervisedProcess) ended() <-chan struct{} { return s.done }

func (s *supervisedProcess) left() bool {
	if !s.exited || s.keep {
		return s.members // a supervisor of what is kept goes at once
	}
	select {
	case <-s.gone:
		return false
	default:
		return s.members
	}
}

func (s *supervisedProcess) terminate(grace time.Duration) killReport {
	if _, err := s.control.WriteString(strconv.FormatInt(grace.Milliseconds(), 10) + "\n"); err != nil {
		return s.fallback(grace)
	}
	limit := time.NewTimer(grace + supervisorSlack)
	defer limit.Stop()
	select {
	case r := <-s.killed:
		return r
	case <-s.gone:
		select {
		case r := <-s.killed: // it answered before it went
			return r
		default:
		}
	case <-limit.C:
	}
	return s.fallback(grace)
}

// fallback ends the tree without the supervisor, when that was killed.
func (s *supervisedProcess) fallback(grace time.Duration) killReport {
	select {
	case <-s.gone:
		if s.orderly && !s.keep {
			return killReport{} // it went because nothing lives any more
		}
	default:
	}
	r := reportOf(s.tree.Terminate(grace))
	if r.unverified == "" {
		r.unverified = "the supervisor of the command was killed; what had left the command's session unmarked can't be found"
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

func (s *supervisedProcess) release() { _ = s.control.Close() }

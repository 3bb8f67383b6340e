package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// lateStatus is how long the status of a killed command is waited for.
const lateStatus = time.Second

// maxGrace bounds the grace, so that no sum of times overflows.
const maxGrace = time.Hour

// Exec runs one command to its end; see ops.BashOperations.
//
// output is called from the goroutine that reads the command's pipe: a listener
// that blocks holds the command up. What the command printed before it ended is
// delivered in full; when processes that it left behind still hold the pipe, a
// short grace later nothing more is.
func (e engine) Exec(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, err := e.ws.jobs.begin(cancel)
	if err != nil {
		return ops.Exit{}, unavailable(cmd.Dir, "The workspace is closed", nil)
	}
	defer done()
	if err := ctx.Err(); err != nil {
		return ops.Exit{}, err
	}
	leave, err := e.ws.commands.enter(ctx)
	if err != nil {
		return ops.Exit{}, err
	}
	defer leave()
	l, err := e.prepare(ctx, cmd)
	if err != nil {
		return ops.Exit{}, e.fail("chdir", cmd.Dir, err)
	}
	defer l.close()
	out, err := newSink(output, e.ws.spills.newSpill(cmd, l.id))
	if err != nil {
		return ops.Exit{}, fmt.Errorf("make a pipe for the output: %w", err)
	}
	l.output = out.write
	before := countLimits()
	p, err := e.ws.start(ctx, l)
	_ = out.write.Close()
	if err != nil {
		_ = out.read.Close()
		return ops.Exit{}, e.ws.startError(l, err)
	}
	go out.run()
	exit, err := e.ws.watch(ctx, cmd, l, p, out)
	exit.Limits = before.hit()
	return exit, err
}

// watch waits for the end of a started command, or brings it about.
func (w *Workspace) watch(ctx context.Context, cmd ops.Command, l *launch, p process, out *sink) (ops.Exit, error) {
	grace := cmd.Grace
	if grace <= 0 {
		grace = ops.DefaultGrace
	}
	grace = min(grace, maxGrace)
	var timeout <-chan time.Time
	if cmd.Timeout > 0 {
		t := time.NewTimer(cmd.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	exit := ops.Exit{Shell: l.shell}
	var ended error
	select {
	case <-p.ended():
	case <-timeout:
		exit.TimedOut = true
	case <-ctx.Done():
		ended = ctx.Err()
	}
	killed := exit.TimedOut || ended != nil
	if killed {
		p.terminate(w.jobs.graceAt(grace)).put(&exit)
	}
	out.drain()
	left := !killed && p.left()
	if left && cmd.Background == ops.BackgroundKill {
		p.terminate(grace).put(&exit)
		left = false
	}
	status, err := p.finish(lateStatus)
	exit.Code, exit.Signal = status.code, status.signal
	held := out.stop()
	out.spill.report(&exit)
	exit.Background = !killed && (left || held && cmd.Background != ops.BackgroundKill)
	w.jobs.leave(p, out, left && cmd.Background != ops.BackgroundKeep)
	if ended != nil {
		return exit, ended
	}
	if err != nil && !exit.TimedOut {
		return exit, err
	}
	return exit, nil
}

// status is how the command's own process ended.
type status struct {
	code   int
	signal string
}

// killReport says what ending a tree did.
type killReport struct {
	killed     int
	survivors  []string
	unverified string
}

func (r killReport) put(exit *ops.Exit) {
	exit.Killed, exit.Survivors, exit.Unverified = r.killed, r.survivors, r.unverified
}

// process is a started command, on any system and with or without a supervisor.
type process interface {
	// ended is closed when the command's own process has ended.
	ended() <-chan struct{}
	// left reports, after ended, whether processes of the command still live.
	left() bool
	// terminate ends the tree and looks that it has ended. It may be called
	// again, also after finish.
	terminate(grace time.Duration) killReport
	// finish returns the status, waiting for it at most so long. A status that
	// does not come is a *ops.TransportError of KindNoStatus.
	finish(limit time.Duration) (status, error)
	// release gives up what is still held of a finished command; a supervisor
	// goes, and ends what is left unless it is to be kept.
	release()
}

func noStatus(what string) error {
	return &ops.TransportError{Kind: ops.KindNoStatus, Target: "local", Msg: "No exit status received: " + what}
}

// await waits for a channel to be closed, at most so long.
func await(ch <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-ch:
		return true
	case <-t.C:
		return false
	}
}

func (w *Workspace) startError(l *launch, err error) error {
	var transport *ops.TransportError
	switch {
	case errors.Is(err, syscall.EAGAIN): // a limit of processes
		return w.crowded(l, err)
	case errors.As(err, &transport), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case os.IsNotExist(err):
		return noShell(l.shell, err)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("start %s: its arguments and environment have %d bytes: %w", l.shell, l.size(), bare(err))
	}
	return fmt.Errorf("start %s: %w", l.shell, bare(err))
}

// crowded is the error of a command for which there is no process to be had. What
// earlier commands left is the likely cause, and without an end to it no command
// could run any more.
func (w *Workspace) crowded(l *launch, err error) error {
	n, eerr := w.jobs.end(ops.DefaultGrace)
	mend := "end some that run, or raise the limit"
	if n > 0 {
		mend = "what earlier commands had left in the background was ended; try again"
	}
	return &ops.TransportError{
		Kind: ops.KindUnavailable, Target: "local", Err: errors.Join(err, eerr),
		Msg: fmt.Sprintf("No process can be started for %s, since there are as many as are allowed (%v): %s", l.shell, bare(err), mend),
	}
}

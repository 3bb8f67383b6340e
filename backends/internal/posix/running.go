package posix

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// running is one command under way.
type running struct {
	e      *Engine
	cmd    ops.Command
	req    execRequest
	call   string // marker of the call
	exit   ops.Exit
	spill  *spill
	in     *gate
	cancel context.CancelFunc // gives the channel up
	done   chan struct{}      // closed when Run returned
	status Status             // valid after done
	err    error

	out  *outStream
	errs *errStream

	ready *standby // ends the command without delay; nil until shortly before its deadline
}

func newRunning(e *Engine, cmd ops.Command) *running {
	if cmd.Grace <= 0 {
		cmd.Grace = ops.DefaultGrace
	}
	r := &running{e: e, cmd: cmd, call: nonce(), done: make(chan struct{}), spill: newSpill(e, cmd)}
	n := nonce()
	r.out = &outStream{scanner: scanner{nonce: n}, started: make(chan struct{}), exited: make(chan struct{})}
	r.errs = &errStream{scanner: scanner{nonce: n}, ended: make(chan struct{})}
	return r
}

// start runs the shell. The channel's life is ours, not the caller's: when ctx
// ends the tree is ended first.
func (r *running) start(ctx context.Context, req execRequest, output func(ops.Chunk)) {
	r.req = req
	r.out.deliver = func(p []byte) {
		r.spill.write(ctx, p)
		if output != nil && len(p) > 0 {
			output(ops.Chunk{Data: p})
		}
	}
	req.args[4] = r.call
	n := r.out.nonce
	r.in = newGate(n+"\n"+r.e.values(false, req.args...)+"\np_env="+Quote(req.env)+"\n"+n+"\n", req.bulk)
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	go func() {
		defer close(r.done)
		r.status, r.err = r.e.core.runner.Run(runCtx, Process{
			Argv: r.e.argv("exec"), Stdin: r.in, Stdout: r.out.write, Stderr: r.errs.write,
		})
		r.out.rest(r.out.text)
	}()
}

// wait sees the command to its end, and returns when Run has returned.
func (r *running) wait(ctx context.Context) error {
	defer r.cancel()
	defer func() {
		if r.ready != nil {
			r.ready.dismiss()
		}
	}()
	var soon, timeout <-chan time.Time
	begun := r.out.started
	if r.cmd.Timeout > 0 {
		t := time.NewTimer(r.cmd.Timeout + startWait)
		defer t.Stop()
		timeout = t.C
	}
	for {
		select {
		case <-begun:
			begun = nil
			if r.cmd.Timeout > 0 {
				t, early := time.NewTimer(r.cmd.Timeout), time.NewTimer(max(0, r.cmd.Timeout-standbyLead))
				defer t.Stop()
				defer early.Stop()
				timeout, soon = t.C, early.C
			}
		case <-r.done:
			return r.conclude(ctx)
		case <-r.out.exited:
			return r.leave(ctx)
		case <-soon:
			r.ready = r.newStandby(ctx)
		case <-timeout:
			if err := r.kill(ctx); err != nil {
				return err
			}
			r.exit.TimedOut = true
			return nil
		case <-ctx.Done():
			if err := r.kill(ctx); err != nil {
				return errors.Join(ended(ctx), err)
			}
			return ended(ctx)
		}
	}
}

// leave waits a little for the pipe to close after the command has ended.
func (r *running) leave(ctx context.Context) error {
	grace := closeWait
	select {
	case <-r.done:
	case <-r.errs.ended:
		if r.errs.background > 0 {
			grace = holdWait
		}
	case <-time.After(statusWait):
	}
	select {
	case <-r.done:
	case <-time.After(grace):
		r.exit.Background = true
		r.cancel()
		<-r.done
	}
	return r.conclude(ctx)
}

// conclude fills the exit of a command that ended by itself.
func (r *running) conclude(ctx context.Context) error {
	switch {
	case r.out.failure != nil:
		return r.e.startFailure(r.req, r.out.failure)
	case !r.out.hasExit:
		return r.lost(ctx)
	}
	r.setStatus()
	if r.errs.background > 0 {
		r.exit.Background = true
	}
	if !r.exit.Background {
		return nil
	}
	if r.cmd.Background == ops.BackgroundKill {
		if err := r.endTree(ctx); err != nil {
			r.exit.Unverified = "ending the background processes failed: " + err.Error()
		}
		return nil
	}
	if r.cmd.Background != ops.BackgroundKeep {
		r.e.core.mu.Lock()
		r.e.core.background = true
		r.e.core.mu.Unlock()
	}
	return nil
}

// lost explains an end without a status; what the command started is ended
// where the target still answers. (Hazard SSHX-04.)
func (r *running) lost(ctx context.Context) error {
	err := r.err
	if !r.out.running() {
		if err == nil {
			err = r.e.noReply(r.status, r.out.noise, false)
		}
		return err
	}
	msg := r.e.label + ": no exit status received: the shell above the command ended"
	if err != nil && ops.KindOf(err) != ops.KindNoStatus {
		r.e.core.mu.Lock()
		r.e.core.lost = true
		r.e.core.mu.Unlock()
		return err
	}
	if killErr := r.endTree(ctx); killErr != nil {
		msg += "; its processes could not be looked for"
	}
	return r.e.transport(ops.KindNoStatus, msg, err)
}

// setStatus takes over the reported status.
func (r *running) setStatus() {
	r.exit.Code = r.out.code
	r.exit.Signal = ""
	// A shell says 128+n for a signal and for a plain exit with that code; for
	// a signal it also says so on stderr.
	if r.out.code > 128 && r.errs.spoke() {
		r.exit.Signal = r.out.signal
	}
}

// kill ends the tree of a command that timed out or was aborted.
func (r *running) kill(ctx context.Context) error {
	r.spill.abort()
	if r.in.stop(); !r.out.running() {
		// Either it never starts, since its script was cut off, or at once.
		select {
		case <-r.out.started:
		case <-r.done:
		case <-time.After(beginWait):
		}
	}
	if !r.out.running() {
		handedOver := r.in.stop()
		r.cancel()
		<-r.done
		if handedOver && r.out.failure == nil && r.err != nil {
			return r.e.transport(ops.KindOutcomeUnknown, r.e.label+": it is not known whether the command started", r.err)
		}
		return nil
	}
	killErr := r.endTree(ctx)
	select {
	case <-r.done:
	case <-time.After(statusWait):
		r.cancel()
		<-r.done
	}
	if r.out.hasExit {
		r.setStatus()
	} else {
		r.exit.Code, r.exit.Signal = 137, "KILL"
	}
	if killErr != nil {
		return r.e.transport(ops.KindOutcomeUnknown,
			r.e.label+": the command was to be ended, but the target does not answer: "+killErr.Error(), killErr)
	}
	return nil
}

// endTree runs the kill script for this call: the one that stands ready, else a
// new one.
func (r *running) endTree(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cmd.Grace+killWait)
	defer cancel()
	var report endReport
	err := errNotReady
	if r.ready != nil {
		report, err = r.ready.begin(ctx)
		r.ready = nil
	}
	if err != nil {
		report, err = r.end(ctx, nil)
	}
	if err != nil {
		return err
	}
	r.exit.Killed, r.exit.Survivors, r.exit.Unverified = report.killed, report.survivors, report.unverified
	return nil
}

// errNotReady reports that no kill script stands ready.
var errNotReady = errors.New("no script stands ready")

// end is Engine.end for this call.
func (r *running) end(ctx context.Context, hold <-chan struct{}) (endReport, error) {
	group := ""
	if r.e.core.probe.Setsid != "" {
		group = r.out.pid
	}
	return r.e.end(ctx, "PIREMOTE_CALL="+r.call, group, r.cmd.Grace, "", hold)
}

// once closes a channel once.
type once struct{ sync.Once }

func (o *once) close(c chan struct{}) { o.Do(func() { close(c) }) }

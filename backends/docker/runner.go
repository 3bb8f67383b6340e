package docker

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// runner starts processes in the pinned container; it is a posix.Runner.
type runner struct {
	daemon  daemon
	target  target
	user    string
	env     []string
	timeout time.Duration // of requests that are no command
	notice  func(string)
	// keepInput leaves the input open, where ending it ends the output too. It
	// is set when something looks like that; scripts know the length of their
	// input (hazard DKX-04).
	keepInput  atomic.Bool
	begun      atomic.Bool // the starter has started a program
	notStarted atomic.Bool // the daemon could not start the starter's last one

	mu      sync.Mutex
	started string // when the container was, as last seen; empty if it was not seen yet
}

// call is one process under way.
type call struct {
	*runner
	exec    string // its id
	started string // when the container was started, before the process; empty if unknown
}

// watchInterval is how often a silent command's container is looked at;
// codePolls and codeDelay bound the wait for an exit code.
const (
	watchInterval = 2 * time.Second
	codePolls     = 40
	codeDelay     = 50 * time.Millisecond
)

// Run implements posix.Runner by an exec that is attached from its start. An
// exec can't be ended from outside (hazard DKX-01): when ctx ends only the
// connection is closed.
func (r *runner) Run(ctx context.Context, p posix.Process) (posix.Status, error) {
	if ctx.Err() != nil {
		return posix.Status{}, context.Cause(ctx)
	}
	c, s, err := r.start(ctx, p.Argv)
	if err != nil {
		return posix.Status{}, err
	}
	begin := &beginning{}
	stdout := p.Stdout
	p.Stdout = func(b []byte) {
		begin.add(b)
		if stdout != nil {
			stdout(b)
		}
	}
	if err := c.pump(ctx, s, p); err != nil {
		return posix.Status{}, err
	}
	return c.code(ctx, begin.String())
}

// start prepares and starts a process. Until its input is sent it has done
// nothing, so that every error here means that nothing happened.
func (r *runner) start(ctx context.Context, argv []string) (*call, *stream, error) {
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	c := &call{runner: r}
	var seen sync.WaitGroup
	seen.Go(func() { c.started = r.sight(bounded) }) // meanwhile
	id, err := r.daemon.CreateExec(bounded, r.target.id, process{Argv: argv, User: r.user, Env: r.env})
	if err != nil {
		cancel()
		seen.Wait()
		return nil, nil, r.explain(ctx, err, "prepare a command")
	}
	seen.Wait()
	c.exec = id
	s, err := r.daemon.Attach(bounded, id)
	if err != nil {
		return nil, nil, r.explain(ctx, err, "start a command")
	}
	return c, s, nil
}

// pump sends the input and delivers the output until it ends, ctx ends, or the
// container does.
func (c *call) pump(ctx context.Context, s *stream, p posix.Process) error {
	watchCtx, cancel := context.WithCancel(ctx)
	gate := &gate{}
	ended := make(chan error, 1)
	gone := make(chan error, 1)
	var own, input sync.WaitGroup
	own.Go(func() { ended <- demultiplex(s, gate.wrap(p.Stdout), gate.wrap(p.Stderr)) })
	own.Go(func() {
		if err := c.watch(watchCtx); err != nil {
			gone <- err
		}
	})
	input.Go(func() {
		if p.Stdin != nil {
			_, _ = io.Copy(s, p.Stdin) // the process may end without reading all
		}
		if !c.keepInput.Load() {
			_ = s.CloseWrite() // it may have ended
		}
	})
	defer func() {
		gate.close()
		cancel()
		_ = s.Close() // ends the reading and the writing
		own.Wait()
		if p.Stdin == nil {
			input.Wait() // else a Read of the caller's reader may still be under way
		}
	}()
	select {
	case err := <-ended:
		return c.broken(ctx, err)
	case err := <-gone:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch looks at the container until ctx ends; a stream tells nothing of a
// container that is paused, nor of a daemon behind a connection that is half
// open (hazards DKX-06, DKX-07).
func (c *call) watch(ctx context.Context) error {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for silent := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := c.look(ctx, c.started)
		switch {
		case err == nil:
			silent = 0
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, context.DeadlineExceeded) && silent == 0:
			silent++ // a busy daemon may be slow once
		default:
			return c.lost(err)
		}
	}
}

// broken is the error of an output stream that ended with err; nil if it ended
// as it should.
func (c *call) broken(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if gone := c.look(ctx, c.started); gone != nil && ctx.Err() == nil {
		return c.lost(gone)
	}
	if errors.Is(err, errFrame) {
		return c.fault(ops.KindProtocol, err, "the Docker daemon at %s broke the protocol: %v", c.target.endpoint, err)
	}
	return c.fault(ops.KindOutcomeUnknown, err, "the connection to %s was lost while a command was under way (%v); whether it took effect is not known", c.target.label, err)
}

// code waits, with a bound, for the exit code of a process whose output has
// ended. A missing one is never 0 (hazard DKX-02).
func (c *call) code(ctx context.Context, begin string) (posix.Status, error) {
	ticker := time.NewTicker(codeDelay)
	defer ticker.Stop()
	running := false
	for range codePolls {
		s, err := c.inspect(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return posix.Status{}, context.Cause(ctx)
		case err != nil:
			return posix.Status{}, c.noCode(ctx, err)
		case !s.Running && s.Code != nil:
			return c.conclude(ctx, *s.Code, begin)
		}
		running = s.Running
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return posix.Status{}, context.Cause(ctx)
		}
	}
	if running {
		c.keepInput.Store(true)
		return posix.Status{}, c.noCode(ctx, errors.New("its output ended while it was running"))
	}
	return posix.Status{}, c.noCode(ctx, nil)
}

// conclude judges an exit code. Only a high one can be that of a process which
// could not be started, or which ended with its container.
func (c *call) conclude(ctx context.Context, code int, begin string) (posix.Status, error) {
	if code < 126 {
		return posix.Status{Code: code}, nil
	}
	if begin == "" {
		c.keepInput.Store(true)
	}
	if err := c.startFailure(ctx, code, begin); err != nil {
		return posix.Status{}, err
	}
	if gone := c.look(ctx, c.started); gone != nil {
		if ctx.Err() != nil {
			return posix.Status{}, context.Cause(ctx)
		}
		return posix.Status{}, c.lost(gone)
	}
	return posix.Status{Code: code, Signal: signals()[code-128]}, nil
}

// noCode is the error of a process that ended without an exit code.
func (c *call) noCode(ctx context.Context, err error) error {
	if gone := c.look(ctx, c.started); gone != nil && ctx.Err() == nil {
		return c.lost(gone)
	}
	detail := ""
	if err != nil {
		detail = ": " + err.Error()
	}
	return c.fault(ops.KindNoStatus, err, "no exit status received from container %s%s", c.target.name, detail)
}

func (c *call) inspect(ctx context.Context) (execState, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return c.daemon.InspectExec(ctx, c.exec)
}

// startFailure recognises a process that could not be started; its only trace
// is the exit code 126 or 127 with the daemon's text as the output. The output
// of a process of ours begins with a mark.
func (r *runner) startFailure(ctx context.Context, code int, output string) error {
	if code != 126 && code != 127 || !daemons(output) {
		return nil
	}
	text := strings.TrimSpace(output)
	if gone := r.look(ctx, ""); gone != nil && ctx.Err() == nil {
		return gone
	}
	kind := ops.KindUnavailable
	for _, sign := range []string{"no such file or directory", "not found in $path", "permission denied", "exec format error"} {
		if strings.Contains(strings.ToLower(text), sign) {
			kind = ops.KindNoShell
		}
	}
	if kind == ops.KindNoShell {
		return r.fault(kind, nil, "there is no usable shell in container %s, and a workspace needs one: %s", r.target.name, text)
	}
	if n, limit, full := r.crowded(ctx); full {
		return r.fault(kind, nil, "a command can't be started in container %s, which has %d processes and a limit of %d: end some of them, or raise the limit by docker update --pids-limit", r.target.name, n, limit)
	}
	return r.fault(kind, nil, "a command can't be started in container %s: %s", r.target.name, text)
}

// daemons reports that an output is the text of the daemon, of containerd or of a
// runtime (runc, crun) about a process that they could not start.
func daemons(output string) bool {
	for _, begin := range []string{
		"OCI runtime exec failed", "OCI runtime error", "unable to find user ", "unable to find group ",
		"cannot exec in a ", "no running task found", "container not running",
	} {
		if strings.HasPrefix(output, begin) {
			return true
		}
	}
	return false
}

// signals names those by which a process commonly ends.
func signals() map[int]string {
	return map[int]string{1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 11: "SEGV", 13: "PIPE", 14: "ALRM", 15: "TERM"}
}

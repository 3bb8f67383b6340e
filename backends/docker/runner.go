package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
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
}

// watchInterval is how often a silent command's container is looked at, and
// codePolls and codeDelay bound the wait for an exit code.
const (
	watchInterval = 2 * time.Second
	codePolls     = 40
	codeDelay     = 50 * time.Millisecond
)

// Run starts p by an exec that is attached from its start.
func (r *runner) Run(ctx context.Context, p posix.Process) (posix.Status, error) {
	if err := ctx.Err(); err != nil {
		return posix.Status{}, context.Cause(ctx)
	}
	id, err := r.create(ctx, p)
	if err != nil {
		return posix.Status{}, err
	}
	attached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel() // ends the exchange of headers, if it still goes on
	start := make(chan attachResult, 1)
	go func() {
		s, err := r.daemon.Attach(attached, id)
		start <- attachResult{s, err}
	}()
	var s *stream
	select {
	case a := <-start:
		if a.err != nil {
			return posix.Status{}, r.explain(ctx, a.err, "start a command")
		}
		s = a.stream
	case <-ctx.Done():
		cancel()
		go abandon(start)
		return posix.Status{}, context.Cause(ctx)
	}
	var text tail
	deliver := p
	if p.Stdout == nil {
		deliver.Stdout = func([]byte) {}
	}
	inner := deliver.Stdout
	deliver.Stdout = func(b []byte) { text.add(b); inner(b) }
	err = r.stream(ctx, s, deliver)
	if err != nil {
		return posix.Status{}, err
	}
	return r.code(ctx, id, &text)
}

type attachResult struct {
	stream *stream
	err    error
}

// abandon closes a stream that arrives after its caller has gone.
func abandon(start <-chan attachResult) {
	if a := <-start; a.err == nil {
		_ = a.stream.Close()
	}
}

func (r *runner) create(ctx context.Context, p posix.Process) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	id, err := r.daemon.CreateExec(ctx, r.target.id, process{Argv: p.Argv, User: r.user, Env: r.env})
	if err != nil {
		return "", r.explain(ctx, err, "prepare a command")
	}
	return id, nil
}

// stream sends the input and delivers the output until it ends, ctx ends, or
// the container does.
func (r *runner) stream(ctx context.Context, s *stream, p posix.Process) error {
	gate := &gate{}
	ended := make(chan error, 1)
	var group sync.WaitGroup
	group.Go(func() { ended <- demultiplex(s, gate.wrap(p.Stdout), gate.wrap(p.Stderr)) })
	group.Go(func() {
		if p.Stdin != nil {
			_, _ = io.Copy(s, p.Stdin) // the process may end without reading all
		}
		_ = s.CloseWrite()
	})
	defer func() {
		gate.close()
		_ = s.Close()
		if p.Stdin == nil {
			group.Wait()
			return
		}
		go group.Wait() // a reader of the caller's may still be in a Read
	}()
	watch := time.NewTicker(watchInterval)
	defer watch.Stop()
	for {
		select {
		case err := <-ended:
			if errors.Is(err, errFrame) {
				if gone := r.gone(ctx); gone != nil {
					return gone
				}
				return r.fault(ops.KindProtocol, err, "%s: %v", r.target.label, err)
			}
			if err != nil {
				return r.lost(ctx, err)
			}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-watch.C:
			if err := r.gone(ctx); err != nil {
				return err
			}
		}
	}
}

// code waits, with a bound, for the exit code of a process whose output has
// ended. A missing one is never 0 (hazard DKX-02).
func (r *runner) code(ctx context.Context, exec string, text *tail) (posix.Status, error) {
	ticker := time.NewTicker(codeDelay)
	defer ticker.Stop()
	for range codePolls {
		code, err := r.inspect(ctx, exec)
		if err != nil {
			return posix.Status{}, r.explain(ctx, err, "ask how a command ended")
		}
		if code != nil {
			if start := startFailure(*code, text.String()); start != "" {
				return posix.Status{}, r.fault(ops.KindNoShell, nil, "there is no shell in container %s: %s", r.target.name, start)
			}
			return status(*code), nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return posix.Status{}, context.Cause(ctx)
		}
		if err := r.gone(ctx); err != nil {
			return posix.Status{}, err
		}
	}
	return posix.Status{}, r.fault(ops.KindNoStatus, nil, "no exit status received from container %s", r.target.name)
}

func (r *runner) inspect(ctx context.Context, exec string) (*int, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.daemon.InspectExec(ctx, exec)
}

// status reads 128+n as the end by signal n, as a shell reports it.
func status(code int) posix.Status {
	names := map[int]string{1: "HUP", 2: "INT", 3: "QUIT", 6: "ABRT", 9: "KILL", 11: "SEGV", 13: "PIPE", 14: "ALRM", 15: "TERM"}
	return posix.Status{Code: code, Signal: names[code-128]}
}

// startFailure recognises a process that the runtime could not start; its only
// trace is the exit code 126 or 127 with a text of the runtime's own.
func startFailure(code int, text string) string {
	if code != 126 && code != 127 {
		return ""
	}
	for _, sign := range []string{"OCI runtime exec failed", "exec failed: "} {
		if i := strings.Index(text, sign); i >= 0 {
			return strings.TrimSpace(text[i:])
		}
	}
	return ""
}

// gone reports why the container can't go on, or nil.
func (r *runner) gone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	s, err := r.daemon.Inspect(ctx, r.target.id)
	if err != nil {
		return r.explain(ctx, err, "look at the container")
	}
	return r.stopped(s)
}

// stopped is the error of a container that does not run (hazard DKX-07).
func (r *runner) stopped(s state) error {
	switch {
	case s.Paused:
		return r.fault(ops.KindUnavailable, nil, "container %s is paused: docker unpause %s", s.Name, s.Name)
	case !s.Running && s.OOM:
		return r.fault(ops.KindUnavailable, nil, "container %s ran out of memory and was ended (exit code %d)", s.Name, s.Code)
	case !s.Running:
		return r.fault(ops.KindUnavailable, nil, "container %s is not running (%s, exit code %d): docker start %s", s.Name, s.Status, s.Code, s.Name)
	}
	return nil
}

// lost is the error of a stream that broke.
func (r *runner) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if gone := r.gone(ctx); gone != nil {
		return gone
	}
	return r.fault(ops.KindOutcomeUnknown, err, "the connection to %s was lost: %v", r.target.label, err)
}

// explain names what is wrong when a request to the daemon fails.
func (r *runner) explain(ctx context.Context, err error, what string) error {
	switch {
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return context.Cause(ctx)
	case notFound(err):
		return r.fault(ops.KindUnavailable, err, "container %s does not exist on %s; docker ps lists those that do", r.target.name, r.target.endpoint.Host)
	case unreachable(err):
		return r.fault(ops.KindUnavailable, err, "the Docker daemon at %s (%s) can't be reached: %v", r.target.endpoint.Host, r.target.endpoint.Source, err)
	}
	if s, ierr := r.daemon.Inspect(context.WithoutCancel(ctx), r.target.id); ierr == nil {
		if gone := r.stopped(s); gone != nil {
			return gone
		}
	}
	return r.fault(ops.KindUnavailable, err, "the Docker daemon at %s refused to %s: %v", r.target.endpoint.Host, what, err)
}

func (r *runner) fault(kind ops.Kind, err error, format string, args ...any) error {
	return &ops.TransportError{Kind: kind, Target: r.target.label, Err: err, Msg: fmt.Sprintf(format, args...)}
}

// gate lets output through until it is closed.
type gate struct {
	mu     sync.Mutex
	closed bool
}

func (g *gate) wrap(deliver func([]byte)) func([]byte) {
	if deliver == nil {
		return nil
	}
	return func(p []byte) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.closed {
			deliver(p)
		}
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// tail keeps the end of an output, where the runtime's own text would be.
type tail struct{ b []byte }

func (t *tail) add(p []byte) {
	t.b = append(t.b, p...)
	if extra := len(t.b) - 2048; extra > 0 {
		t.b = append([]byte(nil), t.b[extra:]...)
	}
}

func (t *tail) String() string { return string(t.b) }

package backendtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

func killChecks() []Check {
	return []Check{
		{Name: "TimeoutReported", Rule: "a command that outlives Timeout is an Exit with TimedOut, and no error (BASH-07)", Exec: true, Run: timeoutReported},
		{Name: "TimeoutEndsTree", Rule: "a timeout ends every process of the command before Exec returns (BASH-02, PROC-01)", Exec: true, Run: timeoutEndsTree},
		{Name: "TimeoutEndsEscaped", Rule: "also those that left the session or process group (PROC-04)", Exec: true, Run: timeoutEndsEscaped},
		{Name: "AbortEndsTree", Rule: "when ctx ends the tree is ended and ctx's error is returned (SSHX-01, PROC-02)", Exec: true, Run: abortEndsTree},
	}
}

// timeout lets the processes of a command be seen before it passes.
const timeout = 1500 * time.Millisecond

func withTimeout(d time.Duration) func(*ops.Command) {
	return func(c *ops.Command) { c.Timeout, c.Grace = d, 200*time.Millisecond }
}

func timeoutReported(ctx context.Context, w *Workspace) error {
	start := time.Now()
	r, err := w.exec(ctx, "echo before; sleep "+uniqueSeconds(), withTimeout(300*time.Millisecond))
	if err := first(err, same("TimedOut", r.TimedOut, true), sameBytes("output", r.output, []byte("before\n"))); err != nil {
		return err
	}
	if took := time.Since(start); took > 10*time.Second {
		return fmt.Errorf("it took %v", took)
	}
	r, err = w.run(ctx, "echo fast", withTimeout(time.Minute))
	return first(err, same("TimedOut of a fast command", r.TimedOut, false))
}

func timeoutEndsTree(ctx context.Context, w *Workspace) error {
	seconds := uniqueSeconds()
	return w.endsAtTimeout(ctx, seconds, fmt.Sprintf("sleep %s & sh -c 'sleep %s; true' & sleep %s", seconds, seconds, seconds))
}

func timeoutEndsEscaped(ctx context.Context, w *Workspace) error {
	seconds := uniqueSeconds()
	return w.endsAtTimeout(ctx, seconds, fmt.Sprintf("setsid sleep %s & setsid sh -c 'sleep %s; true' & sleep %s", seconds, seconds, seconds))
}

// endsAtTimeout demands that the three sleepers of a script are there, and then not.
func (w *Workspace) endsAtTimeout(ctx context.Context, seconds, script string) error {
	seen := make(chan error, 1)
	go func() { seen <- w.lives(seconds, 3) }()
	r, err := w.exec(ctx, script, withTimeout(timeout))
	return first(err, <-seen, w.ended(seconds, 0), same("the number of survivors", len(r.Survivors), 0))
}

func abortEndsTree(ctx context.Context, w *Workspace) error {
	seconds := uniqueSeconds()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := make(chan error, 1)
	go func() {
		seen <- w.lives(seconds, 2)
		cancel()
	}()
	_, err := w.exec(ctx, fmt.Sprintf("sleep %s & sleep %s", seconds, seconds), func(c *ops.Command) { c.Grace = 200 * time.Millisecond })
	if serr := <-seen; serr != nil {
		return errors.Join(serr, err)
	}
	return first(cancelled("an aborted command", err), w.ended(seconds, 0))
}

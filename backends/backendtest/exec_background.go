package backendtest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

func backgroundChecks() []Check {
	return []Check{
		{Name: "BackgroundReturns", Rule: "Exec returns when the shell ends, though a child holds the pipe, and says so (BASH-01, SSHX-03)", Exec: true, Run: backgroundReturns},
		{Name: "BackgroundKill", Rule: "with BackgroundKill processes end with their command", Exec: true, Run: backgroundKill},
		{Name: "BackgroundSession", Rule: "with BackgroundSession processes live until the workspace is closed (PROC-02)", Exec: true, Run: backgroundSession},
		{Name: "NothingAfterReturn", Rule: "output is never called after Exec returned", Exec: true, Run: nothingAfterReturn},
	}
}

func backgroundReturns(ctx context.Context, w *Workspace) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := w.run(ctx, "sleep "+uniqueSeconds()+" & echo started")
	return first(done("a command with a background child", err), sameBytes("output", r.output, []byte("started\n")), same("Background", r.Background, true))
}

func backgroundKill(ctx context.Context, w *Workspace) error {
	seconds := uniqueSeconds()
	_, err := w.run(ctx, "(: >begun; exec sleep "+seconds+") & while [ ! -e begun ]; do sleep 0.01; done", func(c *ops.Command) { c.Background = ops.BackgroundKill })
	if err := first(err, w.ended(seconds, 0)); err != nil {
		return err
	}
	// One that was just about to become the program did not show yet.
	pause := time.NewTimer(200 * time.Millisecond)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
	return w.ended(seconds, 0)
}

func backgroundSession(ctx context.Context, w *Workspace) error {
	seconds := uniqueSeconds()
	_, err := w.run(ctx, "sleep "+seconds+" & echo started")
	return first(err, done("before the workspace is closed", w.lives(seconds, 1)), w.Close(), done("after it is closed", w.ended(seconds, time.Second)))
}

func nothingAfterReturn(ctx context.Context, w *Workspace) error {
	var returned atomic.Bool
	late := make(chan ops.Chunk, 1)
	_, err := w.Set.Bash.Exec(ctx, ops.Command{Dir: w.at(), Script: "{ sleep 0.5; echo late; touch late; } & echo now"}, func(c ops.Chunk) {
		if returned.Load() {
			select {
			case late <- c:
			default:
			}
		}
	})
	returned.Store(true)
	if err != nil {
		return err
	}
	// Once the file is there the output has been written too.
	if _, err := until(5*time.Second, func() (bool, error) {
		_, err := w.Fixture.Lstat(w.at("late"))
		return err == nil, nil
	}); err != nil {
		return err
	}
	grace := time.NewTimer(200 * time.Millisecond)
	defer grace.Stop()
	select {
	case c := <-late:
		return fmt.Errorf("%q was delivered after Exec returned", c.Data)
	case <-grace.C:
		return nil
	}
}

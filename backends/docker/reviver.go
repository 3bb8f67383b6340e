package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/piremote/piremote/backends/helper/install"
)

// reviver starts the helper of a sandbox. Where that was lost and there are so many
// processes that it could not run again, or the daemon has failed to start it, it
// restarts the container.
type reviver struct {
	starter
	pids int64 // the limit; not more than zero: none
}

const (
	// helperThreads is how many processes and threads a helper needs, and a command.
	helperThreads = 24
	// subside is how long a lost helper's supervisors have to end their commands.
	subside = 3 * time.Second
)

// Exec implements install.Exec.
func (v reviver) Exec(ctx context.Context, argv []string) (install.Process, error) {
	why := ""
	switch {
	case !v.begun.Load():
	case v.notStarted.Load():
		why = "The daemon could not start the helper in the sandbox again."
	case v.pids > 0 && !v.room(ctx):
		why = fmt.Sprintf("The sandbox had as many processes as the limit of %d allows, and no helper.", v.pids)
	}
	if why != "" {
		bounded, cancel := context.WithTimeout(ctx, makeLimit)
		defer cancel()
		if err := v.daemon.Start(bounded, v.target.id); err != nil {
			return nil, v.explain(ctx, err, "restart the sandbox")
		}
		if v.notice != nil {
			v.notice(fmt.Sprintf("%s It is restarted; /tmp and %s are empty.", why, sandboxHome))
		}
	}
	return v.starter.Exec(ctx, argv)
}

// room reports whether a helper can run, as soon as that is so, after a while at the
// latest. What the daemon does not tell it takes for room.
func (v reviver) room(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, subside)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for full := false; ; {
		n, _, err := v.daemon.Processes(ctx, v.target.id)
		switch {
		case err == nil && n+helperThreads <= v.pids, err != nil && ctx.Err() == nil:
			return true
		case err == nil:
			full = true
		}
		select {
		case <-ctx.Done():
			return !full
		case <-tick.C:
		}
	}
}

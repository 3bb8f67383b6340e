package local

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// blindSpot and unseen are what can't be seen without a supervisor.
const (
	blindSpot = "A process that leaves its session, loses its parents and clears its environment can't be found when its command is ended."
	unseen    = ""
)

// reapsAtOnce says that waiting for a process also reaps it.
const reapsAtOnce = false

func supervised(o Options) bool { return o.Supervisor != "" }

func (w *Workspace) start(ctx context.Context, l *launch) (process, error) {
	if supervised(w.options) {
		return w.startSupervised(ctx, l)
	}
	return w.startDirect(l)
}

// wait returns when the leader has ended, and leaves it unreaped.
func (d *direct) wait() {
	for {
		err := unix.Waitid(unix.P_PID, d.process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (d *direct) reap() { d.state, d.err = d.process.Wait() }

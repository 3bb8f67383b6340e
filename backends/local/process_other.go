//go:build unix && !linux

package local

import "context"

// blindSpot and unseen are what can't be seen on this system.
const (
	blindSpot = "A process that leaves its session and loses its parents may not be found when its command is ended."
	unseen    = "this system does not show every process that left its session"
)

// reapsAtOnce says that waiting for a process also reaps it.
const reapsAtOnce = true

func supervised(Options) bool { return false }

func (w *Workspace) start(_ context.Context, l *launch) (process, error) { return w.startDirect(l) }

// wait returns when the leader has ended and was reaped; there is no way to see
// the one without the other here.
func (d *direct) wait() { d.state, d.err = d.process.Wait() }

func (d *direct) reap() {}

package docker

import "context"

// runtimeThreads is how many processes and threads the runtime takes for a moment to
// start one process in a container.
const runtimeThreads = 12

// crowded reports that a container has so many processes that none can be started
// (hazard DKX-07). The runtime's own words don't tell.
func (r *runner) crowded(ctx context.Context) (n, limit int64, full bool) {
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	n, limit, err := r.daemon.Processes(bounded, r.target.id)
	return n, limit, err == nil && limit > 0 && n+runtimeThreads > limit
}

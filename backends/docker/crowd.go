package docker

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// counter is a daemon that can count the processes and threads of a container.
type counter interface {
	// Processes returns how many there are and how many are allowed; no limit is 0.
	Processes(ctx context.Context, id string) (n, limit int64, err error)
}

// Processes implements counter. The library has no such call.
func (l *library) Processes(ctx context.Context, id string) (n, limit int64, err error) {
	if err := l.negotiate(ctx); err != nil {
		return 0, 0, err
	}
	req, err := l.wire.request(ctx, http.MethodGet, "/v"+l.ClientVersion()+"/containers/"+id+"/stats?stream=false&one-shot=true", nil)
	if err != nil {
		return 0, 0, err
	}
	resp, err := l.HTTPClient().Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	if resp.StatusCode != http.StatusOK {
		return 0, 0, answered(resp)
	}
	var stats struct {
		Pids struct {
			Current int64  `json:"current"`
			Limit   uint64 `json:"limit"`
		} `json:"pids_stats"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&stats); err != nil {
		return 0, 0, err
	}
	if stats.Pids.Limit > 1<<40 { // how some daemons write that there is none
		stats.Pids.Limit = 0
	}
	return stats.Pids.Current, int64(stats.Pids.Limit), nil //nolint:gosec // it was looked at
}

// runtimeThreads is how many processes and threads the runtime takes for a moment to
// start one process in a container.
const runtimeThreads = 12

// crowded reports that a container has so many processes that none can be started
// (hazard DKX-07). The runtime's own words don't tell.
func (r *runner) crowded(ctx context.Context) (n, limit int64, full bool) {
	c, ok := r.daemon.(counter)
	if !ok {
		return 0, 0, false
	}
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	n, limit, err := c.Processes(bounded, r.target.id)
	return n, limit, err == nil && limit > 0 && n+runtimeThreads > limit
}

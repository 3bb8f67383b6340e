package ssh

import (
	"context"
	"errors"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/helper/remote"
)

const (
	// bulk is the number of further channels that large content uses: the window
	// is one of each channel.
	bulk = 3
	// carryLimit is how long the helper may take to be carried and started.
	carryLimit = time.Minute
)

// startHelper opens the workspace behind a helper. It reports false where the
// agentless mode has to do, and says why if the helper was wanted.
func (w *Workspace) startHelper(ctx context.Context) (bool, error) {
	o := w.options
	bounded, cancel := context.WithTimeoutCause(ctx, max(o.ConnectTimeout, carryLimit), errTimeout)
	defer cancel()
	h, reason, err := remote.Open(bounded, remote.Options{
		Policy: o.Helper, Bundle: o.Helpers, Exec: starter{w.connection}, Target: w.connection.hop.label(),
		Client: client.Options{
			Label: w.connection.hop.label(), Backend: "ssh", Dir: o.Dir, Root: o.Root, ExtraRoots: o.ExtraRoots,
			Lease: o.Lease, Compress: true, Keepalive: o.Keepalive, KeepaliveCount: o.KeepaliveCount,
			Patience: o.Patience, Bulk: bulk,
		},
	})
	if errors.Is(err, errTimeout) && ctx.Err() == nil && o.Helper != helper.Require {
		reason, err = "it did not start within "+carryLimit.String(), nil
	}
	if err != nil {
		return false, err
	}
	if h != nil {
		w.helper = h
		return true, nil
	}
	if o.Helper != helper.Never {
		o.Notice(w.connection.hop.label() + ": working without the helper: " + reason)
	}
	return false, nil
}

// Remote returns the workspace behind the helper; nil in the agentless mode.
func (w *Workspace) Remote() *remote.Workspace { return w.helper }

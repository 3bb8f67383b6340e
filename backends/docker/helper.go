package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/helper/remote"
)

// carryLimit is how long the helper may take to be carried and started.
const carryLimit = time.Minute

// openHelper opens the workspace behind a helper. It returns nil where the
// agentless mode has to do, and says why if the helper was wanted.
func openHelper(ctx context.Context, o Options, r *runner, s state, dir, root string) (*Workspace, error) {
	label := "docker://" + s.Name
	bounded, cancel := context.WithTimeout(ctx, carryLimit)
	defer cancel()
	h, reason, err := remote.Open(bounded, remote.Options{
		Policy: o.Helper, Bundle: o.Helpers, Exec: starter{r}, Target: label,
		Client: client.Options{
			Label: label, Backend: "docker", Dir: dir, Root: root, ExtraRoots: o.ExtraRoots, Lease: o.Lease,
			Keepalive: o.Keepalive, KeepaliveCount: o.KeepaliveCount,
		},
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && o.Helper != helper.Require {
		reason, err = fmt.Sprintf("it did not start within %v", carryLimit), nil
	}
	if err != nil {
		return nil, err
	}
	if h != nil {
		return &Workspace{daemon: r.daemon, set: h.Set(), close: h.CloseContext, helper: h}, nil
	}
	if o.Helper != helper.Never && o.Notice != nil {
		o.Notice(label + ": working without the helper: " + reason)
	}
	return nil, nil
}

// Remote returns the workspace behind the helper; nil in the agentless mode.
func (w *Workspace) Remote() *remote.Workspace { return w.helper }

package client

import (
	"context"
	"io"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// Options says which folder to open, and how to get there.
type Options struct {
	// Dial starts a helper and returns its stream, which begins with the helper's
	// first frame. It is called for the first connection, again when that is lost,
	// and for further ones. What ends a stream that the other side left in silence has
	// redial.ErrSilent in its chain. An error with ops.KindUnavailable may be tried again.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)

	Label   string // of the target, such as ssh://user@host; a workspace's ends in its folder
	Backend string
	// Dir is the working folder and Root the confinement root: absolute, below ~,
	// or empty for the home and for Dir.
	Dir, Root string
	// ExtraRoots are further folders that may be reached, absolute or below ~.
	ExtraRoots []ops.Root

	// Lease is how long commands go on at the target when the connection is lost
	// or the client dies; zero ends them.
	Lease time.Duration
	// Compress lets content be compressed on the way.
	Compress bool
	// Keepalive is the time after which a silent helper is asked for a sign, and
	// KeepaliveCount how many may be missing: then the connection is lost. Zero
	// means 15 s and 3.
	Keepalive      time.Duration
	KeepaliveCount int
	// Patience is how long a call whose connection was given up for its silence waits
	// for a sign of life on the next one, which Dial tells by redial.Sign. Without one
	// it ends: as unavailable or, where something may have changed, with an unknown
	// outcome. A command with a lease waits as long as that. Zero means as long as
	// Dial takes and, about a change, as long as it is asked for.
	Patience time.Duration
	// Bulk is the number of further connections that large content uses; zero
	// means none.
	Bulk int
}

func (o Options) withDefaults() Options {
	if o.Keepalive <= 0 {
		o.Keepalive = 15 * time.Second
	}
	if o.KeepaliveCount <= 0 {
		o.KeepaliveCount = 3
	}
	return o
}

// silence is how long either side waits for a sign of the other.
func (o Options) silence() time.Duration {
	return o.Keepalive * time.Duration(o.KeepaliveCount+1)
}

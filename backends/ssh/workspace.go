package ssh

import (
	"context"
	"strings"
	"time"

	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// Workspace is an open folder on a host. Its methods may be called concurrently.
type Workspace struct {
	connection *connection
	engine     *posix.Engine
	set        ops.Set
}

// Open connects to a host and looks at the folder. Faults are
// *ops.TransportError: KindUnavailable, KindHostKey, KindAuth or KindNoShell.
func Open(ctx context.Context, o Options) (*Workspace, error) {
	o = o.withDefaults()
	h, err := resolve(ctx, o, o.Host, o.User, o.Port)
	if err != nil {
		return nil, err
	}
	c := newConnection(o, h)
	w, err := open(ctx, o, c)
	if err != nil {
		c.close()
		return nil, err
	}
	return w, nil
}

func open(ctx context.Context, o Options, c *connection) (*Workspace, error) {
	if _, err := c.get(ctx); err != nil {
		return nil, err
	}
	dir, root := o.Dir, o.Root
	label := c.hop.label()
	if !strings.HasPrefix(dir, "/") {
		// The home is known only there.
		e, err := posix.New(ctx, posix.Options{Runner: runner{c}, Dir: "/", Label: label, Backend: "ssh", Shell: o.ShellPath})
		if err != nil {
			return nil, err
		}
		home := e.Probe().Home
		if home == "" {
			return nil, transport(ops.KindUnavailable, label, nil, "the home folder on %s is not known: give an absolute path", c.hop.address())
		}
		dir = home + strings.TrimPrefix(dir, "~")
	}
	if root == "" {
		root = dir
	}
	if dir != "/" {
		label += dir
	}
	e, err := posix.New(ctx, posix.Options{Runner: runner{c}, Dir: dir, Root: root, Label: label, Backend: "ssh", Shell: o.ShellPath})
	if err != nil {
		return nil, err
	}
	return &Workspace{connection: c, engine: e, set: e.Set()}, nil //nolint:contextcheck // a lifetime of its own, not that of the call
}

// Set returns the operations on the folder.
func (w *Workspace) Set() ops.Set { return w.set }

// closeTimeout bounds the ending of background processes.
const closeTimeout = 10 * time.Second

// Close ends background processes of finished commands, removes spill files and
// closes the connection.
func (w *Workspace) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := w.engine.Close(ctx)
	w.connection.close()
	return err
}

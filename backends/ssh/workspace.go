package ssh

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/piremote/piremote/backends/helper/remote"
	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// Workspace is an open folder on a host. Its methods may be called concurrently.
type Workspace struct {
	options    Options
	connection *connection
	helper     *remote.Workspace // nil in the agentless mode; then what follows counts
	clients    *sftpClients      // nil if there is no SFTP server, or it is not wanted
	engine     *posix.Engine     // nil if there is no shell
	noShell    error             // why
	mutations  *ops.Mutations
	main       *view
}

// Open connects to a host and looks at the folder. Faults are
// *ops.TransportError: KindUnavailable, KindHostKey, KindAuth, or KindNoShell for
// a host with neither a shell nor an SFTP server.
func Open(ctx context.Context, o Options) (*Workspace, error) {
	o = o.withDefaults()
	if err := o.checkFolders(); err != nil {
		return nil, err
	}
	h, err := resolve(ctx, o, o.Host, o.User, o.Port)
	if err != nil {
		return nil, err
	}
	w := &Workspace{options: o, connection: newConnection(o, h)}
	if err := w.start(ctx); err != nil {
		w.connection.close()
		return nil, err
	}
	return w, nil
}

func (o Options) checkFolders() error {
	for _, p := range []string{o.Dir, o.Root} {
		if p != "" && p != "~" && !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~/") || strings.ContainsRune(p, 0) {
			return invalid("the folder %q is neither absolute nor below ~/", p)
		}
	}
	for _, r := range o.ExtraRoots {
		if !path.IsAbs(r.Path) || strings.ContainsAny(r.Path, "\x00\n") {
			return invalid("the extra root %q must be an absolute path without line feeds", r.Path)
		}
	}
	return nil
}

// start connects, and starts the helper; without it, it looks for a shell and an SFTP server at the same time.
func (w *Workspace) start(ctx context.Context) error {
	if _, err := w.connection.get(ctx); err != nil {
		return err
	}
	if done, err := w.startHelper(ctx); done || err != nil {
		return err
	}
	dir, root := w.options.Dir, w.options.Root
	given := strings.HasPrefix(dir, "/") && (root == "" || strings.HasPrefix(root, "/"))
	if root == "" {
		root = dir
	}
	if !given {
		dir, root = "/", "/" // until the home is known
	}
	var sftpErr, shellErr error
	var both sync.WaitGroup
	if w.options.Files != FilesShell {
		w.clients = newClients(w.connection)
		both.Go(func() { _, sftpErr = w.clients.get(ctx) })
	}
	both.Go(func() { w.engine, shellErr = w.newEngine(ctx, dir, root) })
	both.Wait()
	if err := ctx.Err(); err != nil {
		return ended(ctx)
	}
	if err := w.judge(sftpErr, shellErr); err != nil {
		return err
	}
	if w.clients != nil {
		w.mutations = ops.NewMutations((&sftpFiles{clients: w.clients, walker: walker{}}).Canonical)
	}
	if given && w.engine != nil {
		return w.openMain(ctx, func() (*view, error) { return w.viewOf(ctx, w.engine, root) })
	}
	if !given {
		home, err := w.home(ctx)
		if err != nil {
			return err
		}
		dir = tilde(w.options.Dir, home)
		if root = tilde(w.options.Root, home); w.options.Root == "" {
			root = dir
		}
	}
	return w.openMain(ctx, func() (*view, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, w.options.ConnectTimeout, errTimeout)
		defer cancel()
		return w.newView(ctx, dir, root)
	})
}

// openMain opens the first view. Where the SFTP server shows another tree than the
// shell, files go through the shell.
func (w *Workspace) openMain(ctx context.Context, open func() (*view, error)) (err error) {
	if w.main, err = open(); err != nil || w.engine == nil || w.clients == nil {
		return w.late(err, "the SFTP server did not answer")
	}
	bounded, cancel := context.WithTimeoutCause(ctx, w.options.ConnectTimeout, errTimeout)
	defer cancel()
	same, err := w.sameTree(bounded, w.main.dir)
	reason := w.main.dir + " is not the same folder for the SFTP server"
	switch {
	case same:
		return nil
	case errors.Is(err, errTimeout) && ctx.Err() == nil:
		reason = "the SFTP server does not answer"
	case err != nil:
		return err
	}
	w.options.Notice(w.connection.hop.label() + ": files go through the shell, since " + reason)
	w.clients.close()
	w.clients, w.mutations, w.main.files = nil, nil, nil
	return nil
}

// tilde puts the home in the place of ~, and of nothing.
func tilde(p, home string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok || p == "" {
		return path.Clean(home + rest)
	}
	return path.Clean(p)
}

func (w *Workspace) newEngine(ctx context.Context, dir, root string) (*posix.Engine, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.options.ConnectTimeout, errTimeout)
	defer cancel()
	e, err := posix.New(ctx, posix.Options{
		Runner: runner{w.connection}, Dir: dir, Root: root, ExtraRoots: w.options.ExtraRoots, Label: w.label(dir), Backend: "ssh", Shell: w.options.ShellPath,
	})
	return e, w.late(err, "the start of a shell was not complete")
}

// late names the phase in which the time ran out; other errors stay.
func (w *Workspace) late(err error, phase string) error {
	if !errors.Is(err, errTimeout) || ops.KindOf(err) != "" {
		return err
	}
	h := w.connection.hop
	return transport(ops.KindUnavailable, h.label(), err, "%s did not answer in time: %s", h.address(), phase)
}

func (w *Workspace) label(dir string) string {
	l := w.connection.hop.label()
	if dir != "/" {
		l += dir
	}
	return l
}

// judge decides what is there: shell and SFTP, one of them, or nothing (hazard
// SSHX-09).
func (w *Workspace) judge(sftpErr, shellErr error) error {
	var no *noSFTPError
	switch {
	case sftpErr == nil:
	case errors.As(sftpErr, &no):
		w.clients = nil
		if shellErr == nil {
			w.options.Notice(w.connection.hop.label() + ": files go through the shell, since there is no SFTP server: " + no.reason)
		}
	default:
		return sftpErr
	}
	if shellErr == nil {
		return nil
	}
	kind := ops.KindOf(shellErr)
	if kind != ops.KindNoShell && kind != ops.KindProtocol && kind != ops.KindNoStatus && !errors.Is(shellErr, errTimeout) {
		return shellErr // the folder, or the link
	}
	w.engine, w.noShell = nil, shellErr
	if w.clients == nil {
		if !errors.Is(shellErr, errTimeout) {
			kind = ops.KindNoShell
		}
		msg := shellErr.Error()
		if no != nil {
			msg += "; there is no SFTP server either: " + no.reason
		}
		return transport(kind, w.connection.hop.label(), errors.Join(shellErr, sftpErr), "%s", msg)
	}
	w.options.Notice(w.connection.hop.label() + ": there are file tools only: " + plain(shellErr.Error()))
	return nil
}

// home asks the host for the account's home.
func (w *Workspace) home(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.options.ConnectTimeout, errTimeout)
	defer cancel()
	if w.engine != nil {
		if home := w.engine.Probe().Home; strings.HasPrefix(home, "/") {
			return home, nil
		}
	}
	if w.clients != nil {
		home, err := retry(ctx, w.clients, realPath)
		if err == nil && strings.HasPrefix(home, "/") {
			return home, nil
		}
	}
	return "", transport(ops.KindUnavailable, w.connection.hop.label(), nil, "the home folder on %s is not known: give an absolute path", w.connection.hop.address())
}

// Set returns the operations on the folder. They are valid until Close.
func (w *Workspace) Set() ops.Set {
	if w.helper != nil {
		return w.helper.Set()
	}
	return w.main.set()
}

// closeTimeout bounds the ending of background processes.
const closeTimeout = 10 * time.Second

// Close ends background processes of finished commands, removes spill files and
// closes the connection. It may be called more than once.
func (w *Workspace) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var err error
	if w.helper != nil {
		err = w.helper.Close()
	}
	if w.engine != nil {
		err = w.engine.Close(ctx)
	}
	if w.clients != nil {
		w.clients.close()
	}
	w.connection.close()
	return err
}

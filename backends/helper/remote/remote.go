// Package remote opens a workspace behind a helper over whatever can start
// programs on a target: what the backends for SSH hosts and for containers share.
package remote

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/textout"
)

// Options says how to get to a helper.
type Options struct {
	Policy helper.Policy
	Bundle install.Bundle
	Exec   install.Exec
	// Path is the program where the caller has put it; see install.Options.
	Path string
	// Target names the target in errors, such as ssh://host:22.
	Target string
	// Client is all that a client needs but its Dial.
	Client client.Options
}

// Workspace is a workspace behind a helper, and how the helper was started.
type Workspace struct {
	*client.Workspace
	reports
	options Options
}

// Open opens the workspace. Where the helper can't run, or is not wanted, it
// returns nil and the reason, in a sentence: the caller uses other means. An error
// is one of the way to the target or of the folder, or the same reason where the
// helper is required.
func Open(ctx context.Context, o Options) (w *Workspace, reason string, err error) {
	if o.Policy == helper.Never {
		return nil, "the helper is switched off", nil
	}
	w = &Workspace{options: o}
	o.Client.Dial = func(ctx context.Context) (io.ReadWriteCloser, error) {
		s, r, err := install.Start(ctx, o.Exec, o.Bundle, install.Options{Target: o.Target, Path: o.Path})
		w.add(r, err)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	w.Workspace, err = client.Open(ctx, o.Client)
	var cannot *install.CannotRunError
	switch {
	case err == nil:
		return w, "", nil
	case errors.As(err, &cannot) && o.Policy != helper.Require:
		return nil, cannot.Error(), nil
	case errors.As(err, &cannot):
		return nil, "", &ops.TransportError{
			Kind: ops.KindUnavailable, Target: o.Target, Err: err,
			Msg: "the helper is required and can't run on " + o.Target + ": " + cannot.Error(),
		}
	}
	return nil, "", err
}

// Inventory is what the account has on a target, in the folder of its helper.
type Inventory struct {
	Sessions []helper.Session // this one included
	Copies   []helper.Copy    // of other versions of the helper
}

// Inventory lists what the account has on the target. With collect it ends the
// sessions that nobody attends, with their commands, removes what others left, and
// the copies that nobody uses: what is listed is what was there before.
func (w *Workspace) Inventory(ctx context.Context, collect bool) (Inventory, error) {
	word := helper.Sessions
	if collect {
		word = helper.Collect
	}
	s, _, err := install.Start(ctx, w.options.Exec, w.options.Bundle, install.Options{Target: w.options.Target, Path: w.options.Path, Word: word})
	if err != nil {
		return Inventory{}, err
	}
	defer func() { _ = s.Close() }() // it has ended
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	var list Inventory
	for lines := bufio.NewScanner(io.LimitReader(s, maxListing)); lines.Scan(); {
		if session, ok := helper.ParseSession(lines.Text()); ok {
			list.Sessions = append(list.Sessions, session)
		} else if other, ok := helper.ParseCopy(lines.Text()); ok {
			list.Copies = append(list.Copies, other)
		}
	}
	exit, err := s.Wait(ctx)
	if err == nil && exit.Code != 0 {
		err = &ops.TransportError{
			Kind: ops.KindUnavailable, Target: w.options.Target,
			Msg: "what is on " + w.options.Target + " can't be listed or removed: " + textout.Line(exit.Stderr),
		}
	}
	return list, err
}

// maxListing bounds a list of sessions in bytes.
const maxListing = 1 << 20

// reports keeps how the helper was started last.
type reports struct {
	mu   sync.Mutex
	last install.Report
}

func (r *reports) add(report install.Report, err error) {
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = report
}

// Report returns how the helper was started last.
func (r *reports) Report() install.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

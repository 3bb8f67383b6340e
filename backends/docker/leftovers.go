package docker

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Leftover is a sandbox at a daemon.
type Leftover struct {
	ID, Name string
	// Removed says that it was removed: its maker has ended, or its time is over.
	Removed bool
	// Kept says that it was to stay when it was closed.
	Kept bool
	// Until is when its time is over; zero if that is not known.
	Until time.Time
}

// Collect removes the sandboxes at the daemon of o whose makers on this machine have
// ended, as the claims in stateDir tell, and those whose time is over. Those that were
// to be kept stay until then, and those of other machines too. It returns all that
// there were, also beside an error. Of o the fields that find the daemon are used.
func Collect(ctx context.Context, o Options, stateDir string) ([]Leftover, error) {
	o.Timeout = or(o.Timeout, defaultTimeout)
	r, err := newRunner(o, "")
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.daemon.Close() }() // only a client
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	found, err := r.daemon.List(bounded, labelSandbox)
	if err != nil {
		return nil, r.explain(ctx, err, "list the sandboxes")
	}
	var list []Leftover
	there := map[string]bool{}
	for _, c := range found {
		l, token := leftover(c)
		there[token] = true
		_, ownerless := abandoned(stateDir, token)
		if l.over() || ownerless && !l.Kept {
			if err := r.collect(ctx, c); err != nil {
				return append(list, l), err
			}
			l.Removed = true
			_ = os.Remove(filepath.Join(stateDir, filepath.Base(token))) // the claim has served
		}
		list = append(list, l)
	}
	return list, sweepClaims(stateDir, r.target.endpoint.Host, there)
}

// leftover describes a container with our label.
func leftover(c listed) (l Leftover, token string) {
	l = Leftover{ID: c.ID, Name: c.Name, Kept: c.Labels[labelKeep] == "true"}
	if n, err := strconv.ParseInt(c.Labels[labelUntil], 10, 64); err == nil {
		l.Until = time.Unix(n, 0)
	}
	return l, c.Labels[labelSandbox]
}

func (l Leftover) over() bool { return !l.Until.IsZero() && time.Now().After(l.Until) }

func (r *runner) collect(ctx context.Context, c listed) error {
	bounded, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if err := r.daemon.Remove(bounded, c.ID); err != nil {
		return r.refused(bounded, err, "remove the sandbox "+c.Name)
	}
	return nil
}

// sweepClaims removes the claims of processes that ended before there was a container,
// or whose container went by itself.
func sweepClaims(dir, host string, there map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) || dir == "" {
		return nil
	}
	for _, e := range entries {
		if at, is := abandoned(dir, e.Name()); is && at == host && !there[e.Name()] {
			_ = os.Remove(filepath.Join(dir, e.Name())) // the next time then
		}
	}
	return err
}

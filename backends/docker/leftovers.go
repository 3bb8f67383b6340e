package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	// Created is when it was made.
	Created time.Time
	// Until is when its time is over; zero if that is not known.
	Until time.Time
}

// Collect removes the sandboxes at the daemon of o whose makers on this machine have
// ended, as the claims in stateDir tell, and those whose time is over. Those that were
// to be kept stay until then, and those of other machines too. What a killed process's
// sandbox changed in its copy is kept in changesDir before, for Changes; where that
// fails the sandbox stays. It returns all that there were, also beside an error. Of o
// the fields that find the daemon are used, and Notice. An empty stateDir or changesDir
// holds nothing.
func Collect(ctx context.Context, o Options, stateDir, changesDir string) ([]Leftover, error) {
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
	records := copyRecords(changesDir, r.target.endpoint.Host) // whose containers were made before
	found, err := r.daemon.List(bounded, labelSandbox)
	if err != nil {
		return nil, r.explain(ctx, err, "list the sandboxes")
	}
	var list []Leftover
	there, named := map[string]bool{}, map[string]bool{}
	var failed []error
	for _, c := range found {
		l, token := leftover(c)
		there[token], named[c.Name] = true, true
		_, release := takeOver(stateDir, token)
		if l.over() || release != nil && !l.Kept {
			err := r.rescue(ctx, c, changesDir)
			if err == nil {
				err = r.collect(ctx, c)
			}
			if l.Removed = err == nil; l.Removed {
				_ = os.Remove(filepath.Join(stateDir, filepath.Base(token))) // the claim has served
			} else {
				failed = append(failed, err)
			}
		}
		if release != nil {
			release()
		}
		list = append(list, l)
	}
	for _, name := range records {
		if !named[name] {
			removeCopyRecord(filepath.Join(changesDir, name)) // the copy is gone
		}
	}
	return list, errors.Join(append(failed, sweepClaims(stateDir, r.target.endpoint.Host, there))...)
}

// rescue keeps what a sandbox changed in its copy, if there is a record of one.
func (r *runner) rescue(ctx context.Context, c listed, changesDir string) error {
	dir := filepath.Join(changesDir, filepath.Base(c.Name))
	of, err := readCopyRecord(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, makeLimit)
		defer cancel()
		err = r.saveChanges(bounded, c.ID, dir, of)
	}
	if err != nil {
		return fmt.Errorf("the sandbox %s stays, since what it changed in its copy can't be kept (docker rm -f %s removes both): %w", c.Name, c.Name, err)
	}
	return nil
}

// leftover describes a container with our label.
func leftover(c listed) (l Leftover, token string) {
	l = Leftover{ID: c.ID, Name: c.Name, Created: c.Created, Kept: c.Labels[labelKeep] == "true"}
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
		at, release := takeOver(dir, e.Name())
		if release == nil {
			continue
		}
		if at == host && !there[e.Name()] {
			_ = os.Remove(filepath.Join(dir, e.Name())) // the next time then
		}
		release()
	}
	return err
}

package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// SandboxOptions says what a fresh container is made of. Image is required, and
// Helpers must hold a program for the daemon's machine. Options.Container,
// Options.Helper and Options.Lease are not used: a sandbox has a helper, and ends with
// its session. Options.Dir is the working folder in it; empty means /workspace.
// Options.User is the user and group of commands as numbers, "uid" or "uid:gid", and
// not root; empty means the owner of Folder, or 1000:1000 if that is root or there is
// no folder.
type SandboxOptions struct {
	Options
	Image string
	// Folder is the folder of this machine to work on; empty means an empty one that
	// ends with the sandbox.
	Folder string
	// Copy works on a copy of Folder. Otherwise it is mounted, and copied where that
	// is not possible: on a daemon of another machine, or where root owns it.
	Copy bool
	// Network is none, bridge or the name of a network; empty means none.
	Network string
	// Memory in bytes with swap, CPUs and Pids are limits; zero means 2 GiB, 2 (or
	// all, if the daemon's machine has fewer) and 512; less than zero means none.
	Memory int64
	CPUs   float64
	Pids   int64
	// Mounts are further folders, "host:container[:ro]" of the daemon's machine or
	// "tmpfs:container" for one in memory.
	Mounts []string
	// Keep lets the container stay, and run until its time is over, when the sandbox
	// is closed.
	Keep bool
	// StateDir is a folder of this machine where it is noted which sandboxes are in
	// use, so that Collect finds those that a crash left; empty: they go by Lifetime.
	StateDir string
	// ChangesDir is a folder of this machine where the changes of a copy are kept when
	// the sandbox is closed, for Changes, or after a kill by Collect; empty: they are lost.
	ChangesDir string
	// Lifetime ends the sandbox, whatever became of this process; zero means a day.
	Lifetime time.Duration

	token string // names it in StateDir
}

// Sandbox is an open workspace in a container of its own. Its methods may be called
// concurrently, but for Close.
type Sandbox struct {
	*Workspace
	runner *runner
	report SandboxReport
	keep   bool
	copy   *copyRecord // nil where there is no copy whose changes are kept
	dir    string      // where its record is, and its changes will be
	// release gives the claim up.
	release func()
}

// OpenSandbox makes a container from an image and opens a workspace in it. A missing
// image is pulled; Notice hears of that. What fails, or is canceled by ctx, leaves
// nothing behind. Faults are *ops.TransportError.
func OpenSandbox(ctx context.Context, o SandboxOptions) (*Sandbox, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	r, err := newRunner(o.Options, "piremote-"+strings.ToLower(o.token[:12]))
	if err != nil {
		return nil, err
	}
	s := &Sandbox{runner: r, keep: o.Keep, release: func() {}}
	if err := s.open(ctx, o); err != nil {
		s.discard() //nolint:contextcheck // also when ctx has ended
		return nil, err
	}
	return s, nil
}

func (s *Sandbox) open(ctx context.Context, o SandboxOptions) error {
	r := s.runner
	if err := r.open(ctx); err != nil {
		return err
	}
	if o.StateDir != "" && !o.Keep {
		release, err := claim(o.StateDir, o.token, r.target.endpoint.Host)
		if err != nil {
			return fmt.Errorf("the sandbox can't be noted in %s: %w", o.StateDir, err)
		}
		s.release = release
	}
	at, err := s.machine(ctx)
	if err != nil {
		return err
	}
	if o.CPUs > float64(at.Processors) {
		o.CPUs = float64(at.Processors) // the daemon refuses more
	}
	program, err := o.Helpers.Find(at.OS, at.Arch)
	if err != nil {
		return r.fault(ops.KindUnavailable, err, "a sandbox needs the helper: %v", err)
	}
	volumes, err := s.image(ctx, o)
	if err != nil {
		return err
	}
	copied, err := o.whyCopy()
	if err != nil {
		return err
	}
	if r.user, err = o.user(); err != nil {
		return err
	}
	for {
		err := s.start(ctx, o, program, copied, volumes)
		var elsewhere *notHereError
		if !errors.As(err, &elsewhere) || copied != "" {
			s.report = o.report(r.target, r.user, copied, at)
			return err
		}
		s.discardContainer() //nolint:contextcheck // also when ctx has ended
		copied = elsewhere.Error()
		if r.notice != nil {
			r.notice("The folder is copied into the sandbox, since " + copied + ".")
		}
	}
}

// machine asks the daemon what it runs on, and what it can enforce there.
func (s *Sandbox) machine(ctx context.Context) (machine, error) {
	bounded, cancel := context.WithTimeout(ctx, s.runner.timeout)
	defer cancel()
	m, err := s.runner.daemon.Machine(bounded)
	if err != nil {
		return m, s.runner.explain(ctx, err, "say what it can enforce")
	}
	return m, nil
}

// Report says what the sandbox is and what it enforces.
func (s *Sandbox) Report() SandboxReport { return s.report }

// Close ends what runs there, keeps the changes of a copy in ChangesDir, and removes the
// container, unless it is to be kept. Without changes to be kept it takes at most 20
// seconds; a container that is still there then is named, and Collect removes it.
// Changes that can't be kept are an error, and the container stays as long as it may.
func (s *Sandbox) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.close(ctx)
	if s.copy != nil {
		saving, cancel := context.WithTimeout(context.Background(), makeLimit)
		defer cancel()
		if err := s.runner.saveChanges(saving, s.runner.target.id, s.dir, *s.copy); err != nil {
			err = fmt.Errorf("the changes of the copy can't be kept, and are in the container %s; piremote gc tries again: %w", s.runner.target.name, err)
			return errors.Join(err, s.runner.daemon.Close())
		}
	}
	if !s.keep {
		err = s.remove(s.runner.target.name) // with all that runs in it
	}
	if err == nil {
		s.release()
	}
	return errors.Join(err, s.runner.daemon.Close())
}

// remove removes a container of this sandbox.
func (s *Sandbox) remove(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.runner.daemon.Remove(ctx, name); err != nil {
		return s.runner.refused(ctx, err, "remove the sandbox "+s.runner.target.name+", which piremote gc will do")
	}
	return nil
}

// discard undoes what a failed start did.
func (s *Sandbox) discard() {
	s.discardContainer()
	s.release()
	_ = s.runner.daemon.Close() // the reason counts
}

// discardContainer removes the container by its name: a request to make it that was
// given up may have made it all the same.
func (s *Sandbox) discardContainer() {
	if s.Workspace != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = s.close(ctx) // the container goes with all that runs in it
	}
	_ = s.remove(s.runner.target.name) // the reason counts
	if s.copy != nil {
		_ = os.RemoveAll(s.dir) // nothing was changed
	}
	s.Workspace, s.runner.target.id, s.copy = nil, "", nil
}

// token returns a new name for a sandbox.
func newToken() string { return rand.Text() }

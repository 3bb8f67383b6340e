package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/client"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/backends/helper/remote"
	"github.com/piremote/piremote/tools/ops"
)

// makeLimit bounds the making and the starting of a container: where layers are copied
// that takes time.
const makeLimit = 2 * time.Minute

// notHereError says that the daemon can't mount a folder of this machine.
type notHereError struct{ reason string }

func (e *notHereError) Error() string { return e.reason }

// start makes the container, puts in it what it needs, and opens the workspace. Each
// request takes the daemon's time: there is none but those that these steps need.
func (s *Sandbox) start(ctx context.Context, o SandboxOptions, program install.Program, copied string, volumes []string) error {
	r := s.runner
	bounded, cancel := context.WithTimeout(ctx, makeLimit)
	defer cancel()
	if copied != "" {
		if err := s.canCopy(bounded, copied); err != nil {
			return err
		}
	}
	spec, err := o.spec(r.target.name, copied, program.Name(), volumes)
	if err != nil {
		return err
	}
	var archive io.Reader
	var damaged error
	var packing sync.WaitGroup
	packing.Go(func() { archive, damaged = packProgram(program) }) // meanwhile
	id, err := r.daemon.Create(bounded, spec)
	packing.Wait()
	if err != nil {
		if copied == "" && strings.Contains(err.Error(), o.Folder) {
			return &notHereError{fmt.Sprintf("the daemon at %s can't mount it (%v)", r.target.endpoint, err)}
		}
		return s.cannot(ctx, err, "make")
	}
	r.target.id, r.started = id, ""
	if damaged != nil {
		return damaged
	}
	if err := r.daemon.CopyIn(bounded, id, sandboxHelper, archive); err != nil {
		return r.explain(bounded, err, "copy the helper into the sandbox "+spec.Name)
	}
	if copied != "" {
		if err := s.copyFolder(bounded, o, spec); err != nil {
			return err
		}
	}
	if err := r.daemon.Start(bounded, id); err != nil {
		return s.cannot(ctx, err, "start")
	}
	err = s.attach(bounded, o, path.Join(sandboxHelper, program.Name()))
	switch {
	case copied == "" && err != nil && strings.HasSuffix(err.Error(), "permission denied"): // the engine's words
		return s.mayNotRead(o, err)
	case copied == "" && err == nil:
		return s.prove(ctx, o)
	}
	return err
}

func (s *Sandbox) mayNotRead(o SandboxOptions, err error) error {
	return s.runner.fault(ops.KindUnavailable, err, "%s may not read %s: name an account that may by --user, or work on a copy by --copy", s.runner.user, o.Folder)
}

// cannot is the error of a container that can't be made or started. There is none to be
// looked at then.
func (s *Sandbox) cannot(ctx context.Context, err error, do string) error {
	r := s.runner
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return r.fault(ops.KindUnavailable, err, "the Docker daemon at %s did not %s a sandbox within %v", r.target.endpoint, do, makeLimit)
	case unreachable(err):
		return r.refused(ctx, err, do+" a sandbox")
	}
	return r.fault(ops.KindUnavailable, err, "the Docker daemon at %s can't %s a sandbox: %v", r.target.endpoint, do, err)
}

// canCopy refuses Podman, which puts what is copied beside the volume, or leaves that to
// root, and says nothing.
func (s *Sandbox) canCopy(ctx context.Context, copied string) error {
	r := s.runner
	v, err := r.daemon.Version(ctx)
	if err != nil {
		return r.explain(ctx, err, "tell its version")
	}
	if v.Podman {
		return r.fault(ops.KindUnavailable, nil, "the daemon at %s is Podman %s, which can't work on a copy of a folder (%s): name a folder of its machine that no copy is needed of, with --user if root owns it, or use Docker",
			r.target.endpoint, v.Engine, copied)
	}
	return nil
}

// packProgram makes an archive of the helper, to be unpacked in its folder.
func packProgram(program install.Program) (io.Reader, error) {
	data, err := program.Bytes()
	if err != nil {
		return nil, err
	}
	return pack("", program.Name(), data)
}

// attach opens the workspace by the helper.
func (s *Sandbox) attach(ctx context.Context, o SandboxOptions, program string) error {
	r := s.runner
	label := "sandbox://" + o.Image + o.Dir
	r.target.label = label
	root := o.Root
	if root == "" {
		root = o.Dir
	}
	h, _, err := remote.Open(ctx, remote.Options{
		Policy: helper.Require, Bundle: o.Helpers, Exec: reviver{starter{r}, o.Pids}, Path: program, Target: label,
		Client: client.Options{
			Label: label, Backend: "docker", Dir: o.Dir, Root: root, Keepalive: o.Keepalive, KeepaliveCount: o.KeepaliveCount,
		},
	})
	if err != nil {
		return err
	}
	s.Workspace = &Workspace{daemon: r.daemon, set: h.Set(), close: h.CloseContext, helper: h}
	return nil
}

// prove makes sure that the mounted folder is this machine's: what is written here in
// a file of a new name is read there. It also looks whether commands may write there.
func (s *Sandbox) prove(ctx context.Context, o SandboxOptions) error {
	f, err := os.CreateTemp(o.Folder, ".piremote-proof-*")
	if err != nil {
		return &notHereError{fmt.Sprintf("it can't be proven to be the one that is mounted: %v", err)}
	}
	name := filepath.Base(f.Name())
	defer func() { _ = os.Remove(f.Name()) }() // it has served
	nonce := rand.Text()
	_, err = f.WriteString(nonce)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return &notHereError{fmt.Sprintf("it can't be proven to be the one that is mounted: %v", err)}
	}
	seen, err := s.Set().Read.ReadFile(ctx, path.Join(o.Dir, name), 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && string(seen) != nonce:
		return &notHereError{fmt.Sprintf("the daemon at %s is on another machine, where %s is another folder", s.runner.target.endpoint, o.Folder)}
	case errors.Is(err, fs.ErrPermission):
		return s.mayNotRead(o, err)
	case err != nil:
		return err
	}
	back := name + "-back"
	_, err = s.Set().Write.WriteFile(ctx, path.Join(o.Dir, back), nil)
	_ = os.Remove(filepath.Join(o.Folder, back)) // it has served, if it is there
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, ops.ErrReadOnly) {
		if s.runner.notice != nil {
			s.runner.notice(fmt.Sprintf("Commands run as %s, who can't write to %s.", s.runner.user, o.Folder))
		}
		err = nil
	}
	return err
}

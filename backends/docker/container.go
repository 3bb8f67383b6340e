package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// wayLimit is how long the way to a daemon behind SSH may take: connecting, and asking
// there where the daemon is.
const wayLimit = 45 * time.Second

// open makes the way to a daemon behind SSH, so that no request has to wait for that.
func (r *runner) open(ctx context.Context) error {
	e := r.target.endpoint
	if e.Dial == nil {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, wayLimit)
	defer cancel()
	conn, err := e.Dial(bounded, "tcp", "daemon:80")
	switch {
	case err == nil:
		return conn.Close()
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case bounded.Err() != nil:
		return r.fault(ops.KindUnavailable, err, "the Docker daemon at %s can't be reached within %v", e, wayLimit)
	}
	return r.refused(ctx, err, "answer")
}

// find looks for the container by the name that the user gave, and pins it by
// its full id: from then on the name counts no more (hazard DKX-11).
func (r *runner) find(ctx context.Context, name string) (state, error) {
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	s, err := r.daemon.Inspect(bounded, name)
	if err != nil {
		return state{}, r.explain(ctx, err, "find the container")
	}
	const shortID = 12 // digits, as docker ps shows them
	if s.Name != name && len(name) < shortID {
		return state{}, r.fault(ops.KindUnavailable, nil,
			"no container is named %s on %s; it is only the beginning of an id, that of container %s", name, r.target.endpoint, s.Name)
	}
	r.target.id, r.target.name = s.ID, s.Name
	r.started = s.Started
	return s, r.stopped(s)
}

// look reports why the container can't go on, or nil. One that was not started
// when started says is a reason, unless started is empty. The error of a daemon
// that takes too long wraps context.DeadlineExceeded.
func (r *runner) look(ctx context.Context, started string) error {
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	s, err := r.daemon.Inspect(bounded, r.target.id)
	if err != nil {
		return r.refused(bounded, err, "describe the container")
	}
	if err := r.stopped(s); err != nil {
		return err
	}
	if started != "" && s.Started != started {
		return r.fault(ops.KindUnavailable, nil, "container %s was restarted at %s", s.Name, s.Started)
	}
	return nil
}

// sight returns when the container was started, or nothing if that can't be
// found out. It tells the user if that has changed.
func (r *runner) sight(ctx context.Context) string {
	s, err := r.daemon.Inspect(ctx, r.target.id)
	if err != nil {
		return ""
	}
	r.mu.Lock()
	changed := s.Running && s.Started != r.started
	known := r.started != ""
	if changed {
		r.started = s.Started
	}
	r.mu.Unlock()
	if changed && known && r.notice != nil {
		r.notice(fmt.Sprintf("Container %s was restarted at %s: what ran in it has ended, and files outside its volumes may be gone.", s.Name, s.Started))
	}
	return s.Started
}

// stopped is the error of a container that does not run (hazard DKX-07).
func (r *runner) stopped(s state) error {
	switch {
	case s.Paused:
		return r.fault(ops.KindUnavailable, nil, "container %s is paused: docker unpause %s", s.Name, s.Name)
	case s.Status == "restarting":
		return r.fault(ops.KindUnavailable, nil, "container %s is restarting again and again (exit code %d): docker logs %s", s.Name, s.Code, s.Name)
	case s.Status == "removing" || s.Status == "dead":
		return r.fault(ops.KindUnavailable, nil, "container %s is being removed", s.Name)
	case !s.Running && s.OOM:
		return r.fault(ops.KindUnavailable, nil, "container %s ran out of memory and was ended (exit code %d)", s.Name, s.Code)
	case !s.Running:
		return r.fault(ops.KindUnavailable, nil, "container %s is not running (%s, exit code %d): docker start %s", s.Name, s.Status, s.Code, s.Name)
	}
	return nil
}

// explain is the error of a request to the daemon that failed, for a caller
// whose ctx may have ended. It looks at the container, which is the usual cause.
func (r *runner) explain(ctx context.Context, err error, what string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.target.id != "" && !unreachable(err) && ops.KindOf(err) == "" {
		gone := r.look(ctx, "")
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case gone != nil && !errors.Is(gone, context.DeadlineExceeded):
			return gone
		}
	}
	return r.refused(ctx, err, what)
}

// refused words the failure of a request.
func (r *runner) refused(ctx context.Context, err error, what string) error {
	e := r.target.endpoint
	switch {
	case notFound(err) && r.target.id == "":
		return r.fault(ops.KindUnavailable, err, "container %s does not exist on %s; docker ps lists those that do", r.target.name, e)
	case notFound(err):
		return r.vanished(ctx, err)
	case errors.Is(err, context.DeadlineExceeded):
		return r.fault(ops.KindUnavailable, err, "the Docker daemon at %s does not answer within %v when asked to %s", e, r.timeout, what)
	case ops.KindOf(err) != "": // of the way to the daemon
		var way *ops.TransportError
		errors.As(err, &way)
		return r.fault(way.Kind, err, "the Docker daemon at %s can't be reached: %v", e, way)
	case unreachable(err):
		return r.fault(ops.KindUnavailable, err, "the Docker daemon at %s can't be reached: %v", e, err)
	case e.API != "":
		return r.fault(ops.KindUnavailable, err, "the Docker daemon at %s refused to %s with API version %s, which DOCKER_API_VERSION demands: %v", e, what, e.API, err)
	}
	return r.fault(ops.KindUnavailable, err, "the Docker daemon at %s refused to %s: %v", e, what, err)
}

// vanished is the error of a pinned container that is gone. Another one that
// has its name by now is not the one that was opened.
func (r *runner) vanished(ctx context.Context, err error) error {
	s, ierr := r.daemon.Inspect(ctx, r.target.name)
	if ierr == nil && s.Name == r.target.name && s.ID != r.target.id {
		return r.fault(ops.KindUnavailable, err, "container %s was removed, and another one (%.12s) has its name now; open the workspace again to use that", r.target.name, s.ID)
	}
	return r.fault(ops.KindUnavailable, err, "container %s does not exist on %s any more", r.target.name, r.target.endpoint)
}

// lost turns the reason why the container can't go on into the error of a
// command that was under way.
func (r *runner) lost(reason error) error {
	return r.fault(ops.KindOutcomeUnknown, reason, "%v; a command was under way, and whether it took effect is not known", reason)
}

func (r *runner) fault(kind ops.Kind, err error, format string, args ...any) error {
	return &ops.TransportError{Kind: kind, Target: r.target.label, Err: err, Msg: fmt.Sprintf(format, args...)}
}

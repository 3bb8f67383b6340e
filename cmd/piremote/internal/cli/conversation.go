package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/piremote/piremote/agent"
	"github.com/piremote/piremote/agent/session"
	"github.com/piremote/piremote/agent/session/store"
	"github.com/piremote/piremote/cmd/piremote/internal/wire"
)

// sessionFlags say which conversation is gone on with, and where it is kept.
type sessionFlags struct {
	last   bool   // --continue
	resume string // an id
	file   string // --session: a file or an id
	fork   string // a file or an id
	none   bool   // --no-session
	name   string
}

func (s *sessionFlags) add(f *pflag.FlagSet) {
	f.BoolVarP(&s.last, "continue", "c", false, "go on with the session of this workspace that was used last")
	f.StringVarP(&s.resume, "resume", "r", "", "go on with the session of that id, or the beginning of one")
	f.StringVar(&s.file, "session", "", "go on with a session's file; one that is not there is made")
	f.StringVar(&s.fork, "fork", "", "go on with a copy of a session, named by its file or its id")
	f.BoolVar(&s.none, "no-session", false, "keep no session")
	f.StringVar(&s.name, "name", "", "what the session is called")
}

// chosen names the one flag that says which session it is; more are a fault.
func (s *sessionFlags) chosen() error {
	var given []string
	for _, f := range []struct {
		name  string
		given bool
	}{{"--continue", s.last}, {"--resume", s.resume != ""}, {"--session", s.file != ""}, {"--fork", s.fork != ""}, {"--no-session", s.none}} {
		if f.given {
			given = append(given, f.name)
		}
	}
	if len(given) > 1 {
		return &usageError{fmt.Errorf("%s contradict each other: give one of them", strings.Join(given, " and "))}
	}
	return nil
}

// converse opens the session that the flags name, on the workplace.
func (a *app) converse(ctx context.Context, w *workplace, model wire.Model) (*session.Session, error) {
	keep := a.storeOptions(w)
	log, err := a.log(&keep, w)
	if err != nil {
		return nil, err
	}
	return a.newSession(w, model, session.Options{Log: log, Store: keep, Name: a.flags.session.name, OpenModel: a.openModel(ctx, w)})
}

// newSession begins a conversation on the workplace; o has what is not of it.
func (a *app) newSession(w *workplace, model wire.Model, o session.Options) (*session.Session, error) {
	limits := w.config.Limits
	o.Model = session.Model{Provider: model.Provider, Info: wire.Describe(w.config.Model)}
	o.Thinking, o.System = model.Thinking, systemPrompt(w.workspace.Set.Target, w.tools)
	o.Models = func() []session.ModelInfo { return wire.Available(w.config, a.getenv) }
	o.Tools, o.Files, o.Scope, o.Bash = w.tools, w.files, w.scope(), w.shell
	o.Limits = agent.Limits{
		Turns: limits.Turns, ToolCalls: limits.ToolCalls, Cost: limits.Cost, Time: limits.Time, Repeats: limits.Repeats,
	}
	o.Hooks = &session.Hooks{Report: func(point string, err error) { a.notice(fmt.Sprintf("%s: %v", point, err)) }}
	s, err := session.New(o)
	if err != nil && o.Log != nil {
		err = errors.Join(err, o.Log.Close())
	}
	return s, err
}

// openModel opens models that are chosen while the session goes on.
func (a *app) openModel(_ context.Context, w *workplace) func(context.Context, string, string) (session.Model, error) {
	return func(ctx context.Context, provider, id string) (session.Model, error) {
		cfg := *w.config
		cfg.Model = provider + "/" + id
		m, err := wire.OpenModel(ctx, &cfg, a.getenv)
		return session.Model{Provider: m.Provider, Info: wire.Describe(cfg.Model)}, err
	}
}

// storeOptions says where sessions of the workplace are kept: in a folder of its
// own, unless none are.
func (a *app) storeOptions(w *workplace) store.Options {
	t := w.workspace.Set.Target
	o := store.Options{
		Cwd:       t.Dir,
		Workspace: &store.Workspace{Backend: w.described.Backend, Host: hostOf(w), Root: t.Dir, Label: t.Label},
		Redact:    redact(wire.Secrets(a.Env, w.config)),
	}
	if !a.flags.session.none {
		o.Dir = wire.SessionFolder(a.Env, store.FolderName(t.Label))
	}
	return o
}

// hostOf is where the workspace is, as far as that tells it from others of its kind.
func hostOf(w *workplace) string {
	switch d := w.described; d.Backend {
	case "ssh":
		return d.Host
	case "docker":
		return d.Container
	case "sandbox":
		return d.Sandbox.Image
	}
	return ""
}

// redact takes secrets out of what is kept.
func redact(secrets []string) func([]byte) []byte {
	if len(secrets) == 0 {
		return nil
	}
	return func(text []byte) []byte {
		for _, s := range secrets {
			text = bytes.ReplaceAll(text, []byte(s), []byte("[secret]"))
		}
		return text
	}
}

// log opens the session that the flags name; nil begins a new one.
func (a *app) log(keep *store.Options, w *workplace) (*store.Log, error) {
	flags := a.flags.session
	path := ""
	var err error
	switch {
	case flags.last:
		found := false
		if path, found, err = store.Latest(keep.Dir); err == nil && !found {
			a.notice("there is no session of " + w.workspace.Set.Target.Label + " yet; this is the first")
			return nil, nil //nolint:nilnil // a new one begins
		}
	case flags.resume != "":
		path, err = store.Find(keep.Dir, flags.resume)
	case flags.file != "":
		path, err = store.Find(keep.Dir, flags.file)
		if err == nil && !exists(path) {
			keep.Path, keep.Dir = path, filepath.Dir(path)
			return nil, nil //nolint:nilnil // as above
		}
	case flags.fork != "":
		return a.forked(*keep)
	default:
		return nil, nil //nolint:nilnil // as above
	}
	if err != nil {
		return nil, &usageError{err}
	}
	log, err := store.Open(path, *keep)
	if err != nil {
		return nil, err
	}
	if err := a.resumable(log, keep.Workspace); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return log, nil
}

// forked is a copy of the session that --fork names, on the present workspace.
func (a *app) forked(keep store.Options) (*store.Log, error) {
	path, err := store.Find(keep.Dir, a.flags.session.fork)
	if err != nil {
		return nil, &usageError{err}
	}
	from, err := store.Read(path)
	if err != nil {
		return nil, err
	}
	return from.Fork(from.Leaf(), keep)
}

// resumable refuses a session of another workspace, and tells what was repaired in
// its file and which calls nobody saw the end of.
func (a *app) resumable(log *store.Log, here *store.Workspace) error {
	if err := session.Elsewhere(log.Header(), here); err != nil {
		return &usageError{err}
	}
	if text := log.Repair().String(); text != "" {
		a.notice("session " + log.Header().ID + ": " + text)
	}
	c, err := log.Context(log.Leaf())
	if err != nil {
		return err
	}
	if n := len(c.Unknown); n > 0 {
		a.notice(fmt.Sprintf("session %s: %s interrupted, outcome unknown: %s", log.Header().ID, plural(n, "call was", "calls were"), strings.Join(c.Unknown, ", ")))
	}
	return nil
}

// exists reports whether something has that name.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

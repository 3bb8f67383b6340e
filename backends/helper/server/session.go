//go:build linux

package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/backends/local"
	"github.com/piremote/piremote/tools/ops"
)

// session is what one client has at the target: views, commands, changes. It
// outlives its connections for a lease.
type session struct {
	options Options
	name    string
	secret  [sha256.Size]byte
	lease   time.Duration
	folder  *folder // nil if it can't be resumed

	ctx    context.Context //nolint:containedctx // of its commands
	cancel context.CancelFunc

	opening   sync.Mutex // held while a view is opened
	mu        sync.Mutex
	workspace Workspace
	views     []view
	main      *conn // nil while none is there
	conns     map[*conn]struct{}
	expiry    *time.Timer
	until     time.Time // when the lease ends that expiry waits for
	ending    bool
	over      chan struct{} // closed when the session is to end
	done      chan struct{} // closed when it has
	attending sync.WaitGroup
	goodbye   bool // it ends because the client said so

	jobs    jobs
	journal journal
	uploads uploads
}

// view is an opened pair of folders, as they were asked for.
type view struct {
	asked folders
	set   ops.Set
}

type folders struct{ dir, root string }

func newSession(o Options, h wire.Hello) *session {
	s := &session{
		options: o, name: h.Session, secret: sha256.Sum256([]byte(h.Secret)), lease: min(h.Lease, maxLease),
		conns: map[*conn]struct{}{}, over: make(chan struct{}), done: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// maxLease bounds how long commands may go on without a client.
const maxLease = 7 * 24 * time.Hour

// knows reports whether the client has the session's secret.
func (s *session) knows(secret string) bool {
	sum := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(sum[:], s.secret[:]) == 1
}

// errRefused is the error of a client with another secret.
var errRefused = &ops.TransportError{Kind: ops.KindAuth, Target: "helper", Msg: "the session belongs to another client: its secret is another one"}

// attend serves a connection until it ends. The first frame was read.
func (s *session) attend(st stream, in *wire.Reader, h wire.Hello) error {
	out := wire.NewWriter(st)
	out.Compress(h.Compress)
	c := &conn{session: s, stream: st, in: in, out: out, extra: h.Extra, calls: map[uint32]*call{}}
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	defer c.cancel()
	if !s.knows(h.Secret) {
		c.refuse(errRefused)
		_ = st.Close()
		return errRefused
	}
	resumed, err := s.join(c)
	if err != nil {
		c.refuse(err)
		_ = st.Close()
		return err
	}
	c.send(wire.Frame{Type: wire.TypeWelcome, Payload: wire.Encode(&wire.Welcome{
		Version: wire.Version, OS: "linux", Home: s.options.Home, Resumed: resumed, Resumable: s.folder != nil,
	})})
	err = c.serve(h.Silence, func() { s.finish(true) })
	if err == nil { // a goodbye, which is answered when everything has ended
		<-s.done
		c.send(wire.Frame{Type: wire.TypeBye})
		_ = st.Close()
	}
	s.part(c)
	return err
}

// join makes c a connection of the session; a main one cuts the one before off.
func (s *session) join(c *conn) (resumed bool, err error) {
	s.mu.Lock()
	if s.ending {
		s.mu.Unlock()
		return false, errEnding
	}
	resumed = len(s.views) > 0
	before := s.main
	s.conns[c] = struct{}{}
	if !c.extra {
		s.main = c
		if s.expiry != nil {
			s.expiry.Stop()
		}
	}
	if !c.extra && s.folder != nil {
		s.folder.note(stateAttended, time.Time{})
	}
	s.mu.Unlock()
	if !c.extra && before != nil {
		before.leave()
		s.uploads.clear()
	}
	return resumed, nil
}

// part takes a connection out. When the main one is gone the lease begins.
func (s *session) part(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if s.main != c {
		return
	}
	s.main = nil
	s.uploads.clear()
	if s.lease <= 0 {
		s.finishLocked(false)
		return
	}
	s.until = time.Now().Add(s.lease)
	s.expiry = time.AfterFunc(s.lease, s.expire)
	if s.folder != nil {
		s.folder.note(stateAlone, s.until)
	}
}

// expire ends the session at the end of its lease, unless a client came back in the
// last moment, also if it has gone again.
func (s *session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.main == nil && !time.Now().Before(s.until) {
		s.finishLocked(false)
	}
}

// finish ends the session.
func (s *session) finish(goodbye bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishLocked(goodbye)
}

func (s *session) finishLocked(goodbye bool) {
	if s.ending {
		return
	}
	s.ending, s.goodbye = true, goodbye
	close(s.over)
}

// newSet opens folders; the first ones open the workspace.
func (s *session) newSet(ctx context.Context, dir, root string, extra []ops.Root) (ops.Set, error) {
	if s.workspace != nil {
		return s.workspace.Set().At(dir, root)
	}
	open := s.options.Open
	if open == nil {
		open = s.options.openLocal
	}
	for i := range extra {
		extra[i].Path = s.tilde(extra[i].Path)
	}
	w, err := open(ctx, dir, root, extra)
	if err != nil {
		return ops.Set{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workspace = w
	return w.Set(), nil
}

// openLocal opens the engine.
func (o Options) openLocal(ctx context.Context, dir, root string, extra []ops.Root) (Workspace, error) {
	locks := ""
	if o.Cache != "" {
		locks = filepath.Join(o.Cache, helper.Locks)
	}
	w, err := local.Open(ctx, local.Options{
		Dir: dir, Root: root, ExtraRoots: extra, Env: o.Env, Home: o.Home,
		Supervisor: o.Supervisor, SupervisorArgs: o.SupervisorArgs, LockDir: locks,
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// tilde puts the account's home in the place of "~" and of nothing.
func (s *session) tilde(p string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok && (rest == "" || rest[0] == '/') || p == "" {
		return path.Join(s.options.Home, rest)
	}
	return p
}

// close ends everything: changes run to their end, commands don't.
func (s *session) close() error {
	s.mu.Lock()
	conns, w := slices.Collect(maps.Keys(s.conns)), s.workspace
	s.mu.Unlock()
	s.jobs.close()
	s.cancel()
	var err error
	if w != nil {
		err = w.End(s.grace())
	}
	s.jobs.active.Wait()
	for _, c := range conns {
		c.leave()
	}
	return errors.Join(err, s.journal.close())
}

// grace is what commands have to end by themselves: little when nobody is there
// any more.
func (s *session) grace() time.Duration {
	if s.goodbye {
		return ops.DefaultGrace
	}
	return orphanGrace
}

// orphanGrace is the grace of commands whose client is gone.
const orphanGrace = 500 * time.Millisecond

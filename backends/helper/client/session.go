package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/backends/internal/redial"
	"github.com/piremote/piremote/tools/ops"
)

// session is the client's side of its session at the target: the connection that
// carries its calls, made anew when one needs it.
type session struct {
	options Options
	name    string
	secret  string

	keeper *redial.Keeper[*conn]

	mu    sync.Mutex
	views []wire.OpenRequest // in the order of their numbers, from 1
	opens int                // views that were asked for: no number is higher
}

func newSession(o Options) *session {
	s := &session{options: o, name: randomHex(8), secret: randomHex(32)}
	s.keeper = redial.New(redial.Options[*conn]{
		Dial:    s.dial,
		Alive:   (*conn).alive,
		Made:    func(*conn) {},
		Discard: func(c *conn) { c.close(context.Background(), false) },
		Closed: func() error {
			return s.transport(ops.KindUnavailable, errClosed, "the workspace %s is closed", o.Label)
		},
	})
	return s
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// conn returns the connection, made anew if there is none that is alive.
func (s *session) conn(ctx context.Context) (*conn, error) { return s.keeper.Get(ctx) }

// after is get for a call that the end of its connection caught. Where that was a
// silence, it does not wait into the same one: without a sign of life within the
// patience, lost is the error.
func (s *session) after(ctx context.Context, lost error, get func(context.Context) (*conn, error)) (*conn, error) {
	if s.options.Patience <= 0 || !errors.Is(lost, redial.ErrSilent) {
		return get(ctx)
	}
	c, err := redial.Within(ctx, s.options.Patience, get)
	if errors.Is(err, redial.ErrSilent) {
		err = s.explain(lost)
	}
	return c, err
}

// dial starts a helper and presents the session. A session that its process has
// lost gets its views back, under the same numbers.
func (s *session) dial(ctx context.Context, again bool) (*conn, error) {
	c, err := s.open(ctx, wire.Hello{Resume: again})
	if err != nil || !again {
		return c, err
	}
	w, err := c.greeted(ctx)
	if err == nil && !w.Resumed {
		s.mu.Lock()
		views := append([]wire.OpenRequest{}, s.views...)
		s.mu.Unlock()
		for i := range views {
			var r wire.OpenReply
			err = c.do(ctx, request{method: wire.MethodOpen, body: &views[i], result: &r})
			if err == nil && int(r.View) != i+1 {
				err = fmt.Errorf("%w: the view %d has come back as %d", wire.ErrProtocol, i+1, r.View)
			}
			if err != nil {
				break
			}
		}
	}
	if err != nil {
		c.close(ctx, false)
		return nil, s.explain(err)
	}
	return c, nil
}

// open starts a helper and says hello. The welcome is not waited for.
func (s *session) open(ctx context.Context, h wire.Hello) (*conn, error) {
	stream, err := s.options.Dial(ctx)
	if err != nil {
		return nil, err
	}
	h.Version, h.Compress = wire.Version, s.options.Compress
	h.Session, h.Secret = s.name, s.secret
	h.Lease, h.Silence = s.options.Lease, s.options.silence()
	return newConn(stream, s.options, h), nil
}

// keep remembers what a view was opened with, for a session that has to be made
// anew.
func (s *session) keep(number uint32, req wire.OpenRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number == 0 || int64(number) > int64(s.opens) {
		return fmt.Errorf("%w: a view has the number %d, of %d", wire.ErrProtocol, number, s.opens)
	}
	for len(s.views) < int(number) {
		s.views = append(s.views, wire.OpenRequest{})
	}
	s.views[number-1] = req
	return nil
}

// extra makes a further connection of the session.
func (s *session) extra(ctx context.Context) (*conn, error) {
	c, err := s.open(ctx, wire.Hello{Extra: true})
	if err != nil {
		return nil, err
	}
	if _, err := c.greeted(ctx); err != nil {
		c.close(ctx, false)
		return nil, err
	}
	return c, nil
}

// goesOn reports whether a call that ended with err may go on over another
// connection: not where the other side can't be talked to, or nobody wants to.
func goesOn(err error) bool {
	return errors.Is(err, errLost) && !errors.Is(err, errClosed) && !errors.Is(err, wire.ErrProtocol)
}

// read makes a call that changes nothing, and once more if the connection was lost
// before anything of the answer was passed on.
func (s *session) read(ctx context.Context, r request) error {
	begun := false
	if each := r.each; each != nil {
		r.each = func(b []byte) error { begun = true; return each(b) }
	}
	var err error
	for try := 1; ; try++ {
		c, cerr := s.after(ctx, err, s.conn)
		if cerr != nil {
			return cerr
		}
		err = c.do(ctx, r)
		if !goesOn(err) || try == 2 || begun || ctx.Err() != nil {
			return s.explain(err)
		}
	}
}

// resends is how often a change is sent that did not arrive.
const resends = 3

// change makes a call that changes something, exactly once: when the connection is
// lost it is asked what became of it.
func (s *session) change(ctx context.Context, r request) error {
	r.change, r.settle = randomHex(16), lateAnswer
	for try := 1; ; try++ {
		c, err := s.conn(ctx)
		if err != nil {
			return err
		}
		err = c.do(ctx, r)
		if !errors.Is(err, errLost) && !errors.Is(err, errNoAnswer) {
			return s.explain(err)
		}
		if !goesOn(err) {
			return s.unknown(err)
		}
		fate, aerr := s.ask(ctx, r.change, err)
		if aerr != nil {
			return s.unknown(errors.Join(err, aerr))
		}
		switch {
		case fate.Fate == wire.FateDone && fate.Failure != nil:
			return s.explain(&refusal{*fate.Failure})
		case fate.Fate == wire.FateDone:
			if err := wire.Decode(fate.Result, r.result); err != nil {
				return s.unknown(err)
			}
			return nil
		case fate.Fate == wire.FateUnknown || try == resends:
			return s.unknown(err)
		case ctx.Err() != nil: // it was not applied, and need not be
			return context.Cause(ctx)
		}
	}
}

// ask finds out what became of a change whose connection was lost, also when the call
// was canceled: a change whose end is not known is worse than a late answer.
func (s *session) ask(ctx context.Context, change string, lost error) (wire.AskReply, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askLimit)
	defer cancel()
	var reply wire.AskReply
	for {
		c, err := s.after(ctx, lost, s.persist)
		if err != nil {
			return reply, err
		}
		lost = c.do(ctx, request{method: wire.MethodAsk, body: &wire.AskRequest{Change: change}, result: &reply})
		if !goesOn(lost) {
			return reply, lost
		}
	}
}

const (
	// askLimit bounds the asking, with the connecting before it.
	askLimit = 30 * time.Second
	// retryPause is the time between two tries to reach a target again.
	retryPause = time.Second
)

// persist is conn that tries again and again while the target can't be reached,
// until ctx ends.
func (s *session) persist(ctx context.Context) (*conn, error) {
	for {
		c, err := s.conn(ctx)
		if err == nil || ops.KindOf(err) != ops.KindUnavailable || errors.Is(err, errClosed) {
			return c, err
		}
		timer := time.NewTimer(retryPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		}
	}
}

// explain makes the error of a call what the contract says.
func (s *session) explain(err error) error {
	var refused *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused.Err(s.options.Label)
	case errors.Is(err, wire.ErrProtocol):
		return s.transport(ops.KindProtocol, err, "%s: %v", s.options.Label, err)
	case errors.Is(err, errLost):
		return s.transport(ops.KindUnavailable, err, "%s", s.lostText(err))
	}
	return err
}

func (s *session) lostText(err error) string {
	text := "the connection to " + s.options.Label + " was lost"
	var refused *refusal
	var way *ops.TransportError
	switch {
	case errors.As(err, &refused):
		return text + ": " + refused.Text
	case errors.As(err, &way) && strings.HasPrefix(way.Msg, text):
		return way.Msg
	case errors.As(err, &way):
		return text + ": " + way.Msg
	case errors.Is(err, errGone):
		return text + ", and " + errGone.Error() + ","
	case errors.Is(err, redial.ErrSilent):
		return text + ": it stopped answering"
	case errors.Is(err, wire.ErrProtocol):
		return text + ": " + err.Error()
	}
	return text
}

// unknown is the error of an effect whose end is not known.
func (s *session) unknown(err error) error {
	return s.transport(ops.KindOutcomeUnknown, err, "%s while a change or a command was under way; whether it took effect is not known", s.lostText(err))
}

func (s *session) transport(kind ops.Kind, err error, format string, args ...any) error {
	return &ops.TransportError{Kind: kind, Target: s.options.Label, Msg: fmt.Sprintf(format, args...), Err: err}
}

// close ends the session at the target, and the connection.
func (s *session) close(ctx context.Context) {
	c, had, ending := s.keeper.Close()
	if ending != nil {
		<-ending
	}
	if had {
		c.close(ctx, true)
	}
}

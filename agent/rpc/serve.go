package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/piremote/piremote/agent/session"
)

// Options says what is served.
type Options struct {
	Session *session.Session
	In      io.Reader
	Out     io.Writer
	// Export writes the session as a page and returns its path; nil means that this
	// can't be done.
	Export func(ctx context.Context, path string) (string, error)
}

// server is one connection.
type server struct {
	Options
	ctx     context.Context //nolint:containedctx // of the connection; commands live as long
	out     *output
	dialogs dialogs
	group   sync.WaitGroup
}

// Serve answers commands until the input ends, then closes the session: what goes
// on is aborted, commands of the person are ended, and every command that came in
// has its response. It returns nil then, the context's cause when ctx ends first,
// and else what broke the connection. When ctx ends a Read of In may still wait.
//
// Commands are begun in the order in which they come, each when the one before it
// has its response. bash, compact and abort go on beside later commands; abort_bash
// and abort_retry overtake.
func Serve(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &server{Options: o, ctx: ctx, out: &output{w: o.Out, failed: func(err error) {
		cancel(fmt.Errorf("standard output: %w", err))
	}}}
	defer o.Session.Subscribe(s.event)()
	o.Session.SetAsker(s.ask)
	defer o.Session.SetAsker(nil)
	o.Session.Start(ctx)

	received := make(chan []byte)
	ended := make(chan error, 1)
	go s.read(received, ended)
	var err error
	before := make(chan struct{})
	close(before)
	for open := true; open; {
		select {
		case line := <-received:
			before = s.handle(line, before)
		case err = <-ended:
			open = false
		case <-ctx.Done():
			err, open = context.Cause(ctx), false
		}
	}
	s.dialogs.cancel()
	closeErr := o.Session.Close(context.WithoutCancel(ctx))
	cancel(errEnded)
	s.group.Wait()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, closeErr)
}

// errEnded ends what commands still wait for when the input has ended.
var errEnded = errors.New("the input has ended")

// read hands on lines until the input or the connection ends.
func (s *server) read(received chan<- []byte, ended chan<- error) {
	in := lines{bufio.NewReaderSize(s.In, 64<<10)}
	for {
		line, err := in.next()
		if errors.Is(err, errLong) {
			s.out.record(response{Type: "response", Command: "parse", Error: "the command can't be read: " + err.Error()})
			continue
		}
		if err != nil {
			ended <- err
			return
		}
		select {
		case received <- line:
		case <-s.ctx.Done():
			return
		}
	}
}

// handle begins a command once before is closed, and returns what is closed when
// the next may begin.
func (s *server) handle(line []byte, before chan struct{}) chan struct{} {
	var c command
	if err := json.Unmarshal(line, &c); err != nil {
		s.out.record(response{ID: c.ID, Type: "response", Command: "parse", Error: "the command can't be read: " + err.Error()})
		return before
	}
	if c.Type == "extension_ui_response" {
		s.dialogs.answer(c)
		return before
	}
	h, ok := handlers[c.Type]
	if !ok {
		s.out.record(response{ID: c.ID, Type: "response", Command: c.Type, Error: fmt.Sprintf("Unknown command: %s", c.Type)})
		return before
	}
	done := make(chan struct{})
	if h.overtakes {
		close(done)
		s.group.Go(func() {
			s.answer(c, func() (any, error) { return h.do(s.ctx, s, c) })
		})
		return before
	}
	s.group.Go(func() {
		<-before
		if h.aside {
			close(done)
		} else {
			defer close(done)
		}
		s.answer(c, func() (any, error) { return h.do(s.ctx, s, c) })
	})
	return done
}

// answer runs a command and writes its response. A panic is a failure like any
// other.
func (s *server) answer(c command, do func() (any, error)) {
	r := response{ID: c.ID, Type: "response", Command: c.Type}
	data, err := func() (data any, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%s panicked: %v", c.Type, p)
			}
		}()
		return do()
	}()
	if _, none := data.(nothing); err == nil && !none {
		r.Data, err = json.Marshal(data)
	}
	r.Success = err == nil
	if err != nil {
		r.Error, r.Data = err.Error(), nil
	}
	s.out.record(r)
}

// event writes what the session tells.
func (s *server) event(e session.Event) {
	line, err := session.EventJSON(e)
	if err != nil {
		s.out.record(response{Type: "response", Command: "event", Error: "an event can't be written: " + err.Error()})
		return
	}
	s.out.line(line)
}

package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// shell runs the commands of a view.
type shell struct{ *view }

var _ ops.BashOperations = shell{}

// Exec implements ops.BashOperations. A command whose connection was lost is taken
// up again where its output broke off, if the session at the target still lives.
func (s shell) Exec(ctx context.Context, cmd ops.Command, output func(ops.Chunk)) (ops.Exit, error) {
	c, err := s.conn(ctx)
	if err != nil {
		return ops.Exit{}, err
	}
	f := &follower{shell: s, job: randomHex(8), grace: cmd.Grace, output: output}
	run := &wire.ExecRequest{Job: f.job, View: s.number, Command: cmd}
	err = f.follow(ctx, c, wire.MethodExec, run)
	// Who arrives behind the end of the lease is told so.
	for until := time.Now().Add(s.options.Lease + askLimit); goesOn(err); {
		c, aerr := s.again(ctx, until, err)
		if aerr != nil {
			return ops.Exit{}, s.unknown(errors.Join(err, aerr))
		}
		err = f.follow(ctx, c, wire.MethodAttach, &wire.AttachRequest{Job: f.job, From: f.from})
		if errors.As(err, new(*refusal)) && !errors.Is(err, errLost) {
			return ops.Exit{}, s.unknown(err) // it ran, and is not known there any more
		}
		if err == nil && f.reply.Never {
			err = f.follow(ctx, c, wire.MethodExec, run) // the request was lost with the connection
		}
	}
	return f.end(ctx, err)
}

// again returns a connection to the session that the command belongs to, after the one
// before was lost. It tries until the time given if the command has a lease: without
// one it has ended with its connection, as far as the target has noticed.
func (s shell) again(ctx context.Context, until time.Time, lost error) (*conn, error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var c *conn
	var err error
	if s.options.Lease > 0 {
		c, err = s.persist(ctx)
	} else {
		c, err = s.after(ctx, lost, s.conn)
	}
	if err != nil {
		return nil, err
	}
	w, err := c.greeted(ctx)
	if err == nil && !w.Resumed {
		err = errGone
	}
	return c, err
}

// errGone is why a command can't be taken up again.
var errGone = errors.New("the session at the target has ended, and its commands with it")

// follower delivers the output of one command.
type follower struct {
	shell
	job    string
	grace  time.Duration
	output func(ops.Chunk)
	from   int64 // bytes of output delivered, or known to be dropped
	reply  wire.ExecReply
}

func (f *follower) follow(ctx context.Context, c *conn, m wire.Method, body wire.Message) error {
	grace := f.grace
	if grace <= 0 {
		grace = ops.DefaultGrace
	}
	return c.do(ctx, request{method: m, body: body, result: &f.reply, each: f.deliver, settle: grace + lateAnswer})
}

func (f *follower) deliver(b []byte) error {
	var o wire.Output
	if err := wire.Decode(b, &o); err != nil {
		return err
	}
	next := o.Offset + o.Chunk.Dropped + int64(len(o.Chunk.Data))
	if o.Offset != f.from || o.Chunk.Dropped < 0 || o.Chunk.DroppedLines < 0 || next < f.from {
		return fmt.Errorf("%w: output at %d comes after %d", wire.ErrProtocol, o.Offset, f.from)
	}
	f.from = next
	if f.output != nil {
		f.output(o.Chunk)
	}
	return nil
}

// end returns how the command ended.
func (f *follower) end(ctx context.Context, err error) (ops.Exit, error) {
	if err == nil && f.reply.Never {
		return ops.Exit{}, f.unknown(fmt.Errorf("%w: a command ended that never began", wire.ErrProtocol))
	}
	switch {
	case err == nil && f.reply.Failure == nil:
		return f.reply.Exit, nil
	case err == nil && f.reply.Failure.Form == wire.FormCanceled && ctx.Err() != nil:
		return f.reply.Exit, context.Cause(ctx)
	case err == nil:
		return f.reply.Exit, f.reply.Failure.Err(f.options.Label)
	case errors.Is(err, errNoAnswer), errors.Is(err, errLost):
		return ops.Exit{}, f.unknown(err)
	}
	return ops.Exit{}, f.explain(err)
}

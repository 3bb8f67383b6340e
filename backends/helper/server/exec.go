//go:build linux

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/tools/ops"
)

// job is a command of the session. It belongs to no connection: what listens to
// it may change.
type job struct {
	name   string
	cancel context.CancelFunc
	tape   *tape
	ended  chan struct{} // closed when reply is set

	listening chan struct{} // holds a token while a call listens

	mu    sync.Mutex
	reply wire.ExecReply
}

// jobs are the commands that run, and the last that ended: the client may not
// have heard of it.
type jobs struct {
	mu     sync.Mutex
	all    map[string]*job // nil if it is forgotten but for its name
	past   []string        // those that have ended, oldest first
	closed bool
	active sync.WaitGroup
}

// What is remembered of commands that have ended: so many as they are, and so many
// names, by which it is known that they did begin.
const (
	maxPast  = 16
	maxNames = 10_000
)

// errNoJob is the error of a command that the session does not know.
var errNoJob = errors.New("the command is not known here any more")

func execute(k *call, m *wire.ExecRequest) (wire.Message, error) {
	set, err := k.set(m.View)
	if err != nil {
		return nil, err
	}
	s := k.conn.session
	j := &job{name: m.Job, tape: newTape(), ended: make(chan struct{}), listening: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(s.ctx)
	j.cancel = cancel
	if old, err := s.jobs.add(j); old != nil || err != nil {
		cancel()
		if err != nil {
			return nil, err
		}
		return k.listen(old, 0)
	}
	go func() {
		defer s.jobs.active.Done()
		defer cancel()
		exit, err := set.Bash.Exec(ctx, m.Command, func(c ops.Chunk) { j.tape.write(c.Data) })
		j.end(exit, err)
		s.jobs.ended(j)
	}()
	return k.listen(j, 0)
}

func attach(k *call, m *wire.AttachRequest) (wire.Message, error) {
	j, known := k.conn.session.jobs.get(m.Job)
	switch {
	case !known:
		return &wire.ExecReply{Never: true}, nil
	case j == nil:
		return nil, errNoJob
	}
	return k.listen(j, m.From)
}

func (j *job) end(exit ops.Exit, err error) {
	j.mu.Lock()
	j.reply.Exit = exit
	if err != nil {
		j.reply.Failure = wire.FailureOf(err)
	}
	j.mu.Unlock()
	j.tape.finish()
	close(j.ended)
}

// listen sends the output of a job from an offset on, and returns how it ended.
// The end of the client's interest ends the job; that of the connection does not.
func (k *call) listen(j *job, from int64) (wire.Message, error) {
	select {
	case j.listening <- struct{}{}:
		defer func() { <-j.listening }()
	case <-k.ctx.Done():
		return nil, k.ctx.Err()
	}
	if !j.tape.rewind(from) {
		return nil, fmt.Errorf("%w: the output of the command at %d is gone", wire.ErrProtocol, from)
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for sent := int64(0); ; {
		pause, ended := k.pour(j, &sent)
		if ended {
			<-j.ended
			return &j.reply, nil
		}
		timer.Reset(pause)
		select {
		case <-j.tape.changed:
		case <-k.changed:
		case <-timer.C:
		case <-k.ctx.Done():
			if k.conn.gone() {
				return nil, k.ctx.Err()
			}
			j.cancel()
			<-j.ended
			k.pour(j, &sent) // what there is room for
			return &j.reply, nil
		}
	}
}

// pour sends what there is and what there is room for. It returns when to look
// again at the latest, and whether everything was sent.
func (k *call) pour(j *job, sent *int64) (pause time.Duration, ended bool) {
	for {
		window, taken := k.room()
		j.tape.taken(taken)
		if window <= 0 {
			return time.Hour, false
		}
		p, ok, pause := j.tape.take()
		if !ok {
			return cmp.Or(pause, time.Hour), j.tape.done()
		}
		payload := wire.Encode(p.output())
		*sent += int64(len(payload))
		j.tape.delivered(p, *sent)
		k.sendItem(payload)
	}
}

// add takes a job in, unless it returns the one that has its name.
func (js *jobs) add(j *job) (*job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	old, known := js.all[j.name]
	switch {
	case j.name == "":
		return nil, fmt.Errorf("%w: a command has no name", wire.ErrProtocol)
	case old != nil:
		return old, nil
	case known:
		return nil, errNoJob
	case js.closed:
		return nil, errEnding
	}
	if js.all == nil {
		js.all = map[string]*job{}
	}
	js.all[j.name] = j
	js.active.Add(1)
	return nil, nil
}

// close lets no further job begin.
func (js *jobs) close() {
	js.mu.Lock()
	defer js.mu.Unlock()
	js.closed = true
}

// get returns a job, nil if only its name is left, and whether it ever began.
func (js *jobs) get(name string) (j *job, known bool) {
	js.mu.Lock()
	defer js.mu.Unlock()
	j, known = js.all[name]
	return j, known
}

// ended counts a job as past, and forgets the oldest of them.
func (js *jobs) ended(j *job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	js.past = append(js.past, j.name)
	if n := len(js.past) - maxPast; n > 0 {
		js.all[js.past[n-1]] = nil
	}
	for len(js.past) > maxNames {
		delete(js.all, js.past[0])
		js.past = js.past[1:]
	}
}

// errEnding is the error of what is asked for while the session ends.
var errEnding = &ops.TransportError{Kind: ops.KindUnavailable, Target: "helper", Msg: "the session is ending"}

package posix

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// nonce returns 128 random bits in hex.
func nonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// request is one run of a script whose reply is small or bounded.
type request struct {
	script string   // name of an embedded script
	args   []string // its arguments
	bulk   []byte   // follows them on stdin
	limit  int64    // bytes of reply at most; 0 means no limit
	effect bool     // the script changes something: see call

	// hold keeps the script, started, from beginning until it is closed; nil
	// means that it begins at once.
	hold <-chan struct{}
}

// errReplyTooLong reports a reply beyond request.limit.
var errReplyTooLong = errors.New("reply too long")

// part is a piece of a reply and the words of the mark that ended it.
type part struct {
	data []byte
	mark []string
}

// reply is what a script said, from its first mark on.
type reply []part

// last returns the closing mark's words.
func (r reply) last() []string { return r[len(r)-1].mark }

// call runs a script and returns its reply, which ended with "ok" or "err".
//
// Noise before and after the reply is skipped: every mark carries the nonce of
// this call (hazard SSHX-02). If ctx ends while an effect's script or data has
// not been handed over completely, the effect does not happen: the script
// needs both. After that there is a short wait for the reply, and then the
// outcome is unknown.
//
// A script whose status and reply got lost on a way that still works is run once more,
// unless it has an effect: then the outcome is unknown.
func (e *Engine) call(ctx context.Context, req request) (reply, error) {
	r, err := e.attempt(ctx, req)
	switch {
	case ops.KindOf(err) != ops.KindNoStatus:
		return r, err
	case req.effect:
		return nil, e.transport(ops.KindOutcomeUnknown, e.label+": the shell was gone before it reported the outcome", err)
	}
	return e.attempt(ctx, req)
}

func (e *Engine) attempt(ctx context.Context, req request) (reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, ended(ctx)
	}
	n := nonce()
	in := newGate(n+"\n"+e.values(req.effect, req.args...)+"\n"+n+"\n", req.bulk)
	in.hold = req.hold
	out := &collector{limit: req.limit, sep: []byte("\n" + n + " "), whole: make(chan struct{})}
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	out.overflow = cancel

	type result struct {
		status Status
		err    error
	}
	done := make(chan result, 1)
	go func() {
		status, err := e.core.runner.Run(runCtx, Process{
			Argv: e.argv(req.script), Stdin: in, Stdout: out.write,
		})
		done <- result{status, err}
	}()
	var res result
	var stop error // why it was given up
	select {
	case res = <-done:
	case <-out.whole:
		// The rest is formality, unless something that a start-up file left
		// running holds the channel open (hazard SSHX-03).
		timer := time.NewTimer(closeWait)
		select {
		case res = <-done:
		case <-timer.C:
			cancel()
			res = <-done
		}
		timer.Stop()
	case <-ctx.Done():
		stop = ended(ctx)
		handedOver := in.stop()
		if req.effect && handedOver {
			timer := time.NewTimer(900 * time.Millisecond)
			select {
			case res = <-done:
				stop = nil
			case <-timer.C:
				cancel()
				<-done
				stop = e.transport(ops.KindOutcomeUnknown, "", stop)
			}
			timer.Stop()
		} else {
			cancel()
			<-done
		}
	}
	in.stop()
	if stop != nil {
		return nil, stop
	}
	if out.over {
		return nil, errReplyTooLong
	}
	r, whole := parse(out.data.Bytes(), n)
	switch {
	case whole:
		return r, nil
	case res.err != nil:
		return nil, res.err
	}
	return nil, e.noReply(res.status, out.data.Bytes(), req.effect)
}

// noReply explains a script that ran without finishing its reply.
func (e *Engine) noReply(status Status, out []byte, effect bool) error {
	switch {
	case status.Code == 126 || status.Code == 127:
		return e.transport(ops.KindNoShell, e.label+": there is no usable "+e.core.shell+" on the target", nil)
	case effect:
		return e.transport(ops.KindOutcomeUnknown, e.label+": the shell ended before it reported the outcome", nil)
	}
	text := strings.TrimSpace(string(out[:min(len(out), 200)]))
	if text != "" {
		text = " and said: " + text
	}
	return e.transport(ops.KindProtocol, e.label+": the shell ended without a complete answer"+text, nil)
}

// parse cuts a reply at its marks, from the one that starts it. It is whole if
// the last is ok or err.
func parse(out []byte, n string) (reply, bool) {
	sep := []byte("\n" + n + " ")
	var r reply
	for {
		i := bytes.Index(out, sep)
		if i < 0 {
			return r, false
		}
		data, rest := out[:i], out[i+len(sep):]
		j := bytes.IndexByte(rest, '\n')
		if j < 0 {
			return r, false
		}
		mark := string(rest[:j])
		out = rest[j+1:]
		if mark == "start" {
			r = nil
			continue
		}
		r = append(r, part{data: data, mark: strings.Fields(mark)})
		if w := r.last(); len(w) > 0 && (w[0] == "ok" || w[0] == "err") {
			return r, true
		}
	}
}

// failure returns the error that a reply ends with, nil if it is "ok".
func (r reply) failure() (code string, err error) {
	p := r[len(r)-1]
	if p.mark[0] == "ok" {
		return "", nil
	}
	if len(p.mark) < 2 {
		return "EIO", errInput
	}
	code = p.mark[1]
	if code == "TEXT" {
		return code, said(string(p.data))
	}
	if err := sentinel(code); err != nil {
		return code, err
	}
	return code, errInput
}

// collector gathers output up to a limit, and sees when the reply is whole.
type collector struct {
	limit    int64
	sep      []byte // begins a mark
	overflow func()
	whole    chan struct{}
	data     bytes.Buffer
	over     bool
	once     once
}

func (c *collector) write(p []byte) {
	if c.over {
		return
	}
	if c.limit > 0 && int64(c.data.Len()+len(p)) > c.limit {
		c.over = true
		c.overflow()
		return
	}
	c.data.Write(p)
	tail := c.data.Bytes()
	tail = tail[max(0, len(tail)-lastMark):]
	if i := bytes.LastIndex(tail, c.sep); i >= 0 && tail[len(tail)-1] == '\n' {
		mark := tail[i+len(c.sep):]
		if bytes.HasPrefix(mark, []byte("ok")) || bytes.HasPrefix(mark, []byte("err ")) {
			c.once.close(c.whole)
		}
	}
}

// lastMark bounds the length of a closing mark with its nonce.
const lastMark = 256

// gate is the stdin of a script. After stop it hands out nothing more, and
// tells whether everything had been handed out before.
type gate struct {
	hold <-chan struct{} // nothing is handed out before it is closed; nil for none
	over chan struct{}   // closed by stop

	mu    sync.Mutex
	parts [][]byte
	once  once
}

func newGate(script string, bulk []byte) *gate {
	return &gate{parts: [][]byte{[]byte(script), bulk}, over: make(chan struct{})}
}

// Read implements io.Reader.
func (g *gate) Read(p []byte) (int, error) {
	if g.hold != nil {
		select {
		case <-g.hold:
		case <-g.over:
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.parts) > 0 && len(g.parts[0]) == 0 {
		g.parts = g.parts[1:]
	}
	if g.stopped() || len(g.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, g.parts[0])
	g.parts[0] = g.parts[0][n:]
	return n, nil
}

func (g *gate) stopped() bool {
	select {
	case <-g.over:
		return true
	default:
		return false
	}
}

func (g *gate) stop() (handedOver bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.once.close(g.over)
	for _, p := range g.parts {
		if len(p) > 0 {
			return false
		}
	}
	return true
}

package ssh

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// runner starts processes on the host, each on a channel of its own; it is a
// posix.Runner. Raw channels are used, since the library's Session shows an exit
// status only when the output has ended as well.
type runner struct{ connection *connection }

// silence is how long a channel may stay open without output after the exit
// status came: a server that forgets to close it must not hold a call for ever.
const silence = 3 * time.Second

// Run starts p by an exec request.
func (r runner) Run(ctx context.Context, p posix.Process) (posix.Status, error) {
	ch, err := r.connection.session(ctx)
	if err != nil {
		return posix.Status{}, err
	}
	gate := &gate{}
	defer gate.close()
	refused := make(chan error, 1)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		ok, err := ch.SendRequest("exec", true, gossh.Marshal(struct{ Command string }{commandLine(p.Argv)}))
		if err == nil && !ok {
			refused <- transport(ops.KindNoShell, ch.link.label, nil, "%s runs no commands for this account; file tools may still work", ch.link.addr)
		}
	}()
	var output sync.WaitGroup
	output.Go(func() { drain(ch, gate.wrap(p.Stdout)) })
	output.Go(func() { drain(ch.Stderr(), gate.wrap(p.Stderr)) })
	go func() {
		<-answered // what comes before the process is there is lost, and ends a channel of Dropbear
		if p.Stdin != nil {
			_, _ = io.Copy(ch, p.Stdin) // the process may end without reading all
		}
		_ = ch.CloseWrite() // as above
	}()
	drained := make(chan struct{})
	go func() {
		output.Wait()
		<-ch.closed // the status comes before the channel is closed
		close(drained)
	}()
	select {
	case <-drained:
	case err := <-refused:
		ch.abandon()
		return posix.Status{}, err
	case <-gate.silent(ch.link, ch.status, drained):
		ch.abandon()
	case <-ctx.Done():
		ch.abandon()
		return posix.Status{}, ended(ctx)
	}
	// A status may overtake output that a broken link then swallowed.
	if code, signal, ok := ch.exit(); ok && !ch.link.raw.over.Load() {
		return posix.Status{Code: code, Signal: signal}, nil
	}
	<-answered // the channel is closed or given up: nothing else is to come
	select {
	case err := <-refused:
		return posix.Status{}, err
	default:
	}
	if !ch.link.aliveSoon() {
		return posix.Status{}, ch.link.unknown(nil)
	}
	return posix.Status{}, transport(ops.KindNoStatus, ch.link.label, nil, "no exit status received from %s", ch.link.addr)
}

// commandLine spells constant words for any login shell: sshd gives it one
// string. The words hold no single quote and no newline (hazard SSHX-06).
func commandLine(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = "'" + w + "'"
	}
	return "exec " + strings.Join(words, " ")
}

// drain reads to the end and delivers block by block.
func drain(r io.Reader, deliver func([]byte)) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			deliver(buf[:n])
		}
		if err != nil {
			return // the end, or that of the link, which is looked at elsewhere
		}
	}
}

// gate lets output through until it is closed. Each stream is delivered by one
// goroutine; a slow receiver of one does not hold up the other.
type gate struct {
	mu      sync.RWMutex
	closed  bool
	pending atomic.Int64 // deliveries under way
	blocks  atomic.Int64 // delivered
}

func (g *gate) wrap(deliver func([]byte)) func([]byte) {
	return func(p []byte) {
		g.pending.Add(1)
		defer g.pending.Add(-1)
		g.blocks.Add(1)
		g.mu.RLock()
		defer g.mu.RUnlock()
		if !g.closed && deliver != nil {
			deliver(p)
		}
	}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// silent returns a channel that is closed when the status has come and nothing
// was delivered for a while after, although the other side was there to send it.
func (g *gate) silent(l *link, status, over <-chan struct{}) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		select {
		case <-status:
		case <-over:
			return
		}
		ticker := time.NewTicker(silence)
		defer ticker.Stop()
		for seen := g.blocks.Load(); ; {
			select {
			case <-ticker.C:
			case <-over:
				return
			}
			if !l.answers(over) {
				return
			}
			n := g.blocks.Load()
			if n == seen && g.pending.Load() == 0 {
				close(done)
				return
			}
			seen = n
		}
	}()
	return done
}

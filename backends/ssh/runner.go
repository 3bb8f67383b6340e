package ssh

import (
	"context"
	"io"
	"strings"
	"sync"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// runner starts processes on the host, each on a channel of its own; it is a
// posix.Runner.
type runner struct{ connection *connection }

// Run starts p by an exec request.
func (r runner) Run(ctx context.Context, p posix.Process) (posix.Status, error) {
	ch, err := r.connection.session(ctx)
	if err != nil {
		return posix.Status{}, err
	}
	gate := &gate{}
	defer gate.close()
	refused := make(chan error, 1)
	go func() {
		ok, err := ch.SendRequest("exec", true, gossh.Marshal(struct{ Command string }{commandLine(p.Argv)}))
		if err == nil && !ok {
			refused <- transport(ops.KindNoShell, ch.link.label, nil, "%s runs no commands for this account; file tools may still work", ch.link.addr)
		}
	}()
	var output sync.WaitGroup
	output.Go(func() { drain(ch, gate.wrap(p.Stdout)) })
	output.Go(func() { drain(ch.Stderr(), gate.wrap(p.Stderr)) })
	go func() {
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
	case <-ctx.Done():
		ch.abandon()
		return posix.Status{}, ended(ctx)
	}
	code, signal, ok := ch.exit()
	switch {
	case ok:
		return posix.Status{Code: code, Signal: signal}, nil
	case !ch.link.alive():
		return posix.Status{}, ch.link.unknown(nil)
	}
	select {
	case err := <-refused:
		return posix.Status{}, err
	default:
	}
	return posix.Status{}, transport(ops.KindNoStatus, ch.link.label, nil, "no exit status received from %s", ch.link.addr)
}

// commandLine spells constant words for any login shell: sshd gives it one
// string. The words hold no single quote and no newline.
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

// gate lets output through until it is closed.
type gate struct {
	mu     sync.Mutex
	closed bool
}

func (g *gate) wrap(deliver func([]byte)) func([]byte) {
	return func(p []byte) {
		g.mu.Lock()
		defer g.mu.Unlock()
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

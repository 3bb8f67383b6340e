package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/pkg/sftp"
	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/tools/ops"
)

// sftpSession is an SFTP client on a channel of its own.
//
// The library's calls take no context and wait for a silent server for ever; its
// Close waits as well (hazards SFTP-01, SFTP-06). So the client talks through
// pipes of ours: breaking them frees every caller at once, whatever the other
// side does.
type sftpSession struct {
	client  *sftp.Client
	channel *channel
	in      *io.PipeReader // what the client reads
	out     *io.PipeReader // what the client wrote
	done    chan struct{}  // closed when the session is over
	once    sync.Once
	how     string // the server was started
}

// errBroken is what callers get when the session was broken.
var errBroken = errors.New("the SFTP session was ended")

// kill ends the session. All calls in flight fail at once.
func (s *sftpSession) kill() {
	s.once.Do(func() {
		_ = s.in.CloseWithError(errBroken)
		_ = s.out.CloseWithError(errBroken)
		s.channel.abandon()
		close(s.done)
	})
}

func (s *sftpSession) alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// lost reports whether err means that the session, and not the operation, failed.
func (s *sftpSession) lost(err error) bool {
	return err != nil && (!s.alive() || errors.Is(err, sftp.ErrSSHFxConnectionLost) || errors.Is(err, sftp.ErrSSHFxNoConnection) ||
		errors.Is(err, io.ErrClosedPipe) || errors.Is(err, errBroken))
}

// abortWait is how long an aborted call may take to end by itself before the
// session that all calls share is broken for it.
const abortWait = 300 * time.Millisecond

// call runs fn on a session. When ctx ends and fn does not return soon, the
// session is broken, which frees fn; others then repeat what can be repeated.
func call[T any](ctx context.Context, s *sftpSession, fn func(*sftp.Client) (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	var none T
	if ctx.Err() != nil {
		return none, ended(ctx)
	}
	done := make(chan result, 1)
	go func() {
		v, err := fn(s.client)
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		if s.lost(r.err) {
			s.kill() // nobody is given it again
		}
		return r.v, r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(abortWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		s.kill()
		<-done
	}
	return none, ended(ctx)
}

// noSFTPError reports that the host offers no SFTP server.
type noSFTPError struct{ reason string }

// Error says why.
func (e *noSFTPError) Error() string { return "no SFTP: " + e.reason }

// newSession starts an SFTP server: the subsystem, else the server program by
// exec, which also skips what start-up files print (hazard SFTP-08).
func newSession(ctx context.Context, c *connection) (*sftpSession, error) {
	s, err := startSession(ctx, c, "subsystem", "sftp", nil)
	var no *noSFTPError
	if !errors.As(err, &no) {
		return s, err
	}
	marker := "piremote-sftp-" + randomHex()
	command := commandLine([]string{"/bin/sh", "-c", "for p in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/libexec/sftp-server " +
		"/usr/lib/ssh/sftp-server /usr/lib/sftp-server /usr/local/libexec/sftp-server;do if test -x $p;then echo;echo " + marker + ";exec $p;fi;done;exit 127"})
	s, err2 := startSession(ctx, c, "exec", command, []byte(marker+"\n"))
	if errors.As(err2, new(*noSFTPError)) {
		return nil, err
	}
	return s, err2
}

// inFlight is the number of requests that one transfer has under way: four times
// the window of a channel, so that the server never waits for the next.
const inFlight = 256

// startSession makes a request on a new channel and talks SFTP there, after
// marker if there is one.
func startSession(ctx context.Context, c *connection, request, argument string, marker []byte) (*sftpSession, error) {
	ch, err := c.session(ctx)
	if err != nil {
		return nil, err
	}
	in, inWriter := io.Pipe()
	out, outWriter := io.Pipe()
	s := &sftpSession{channel: ch, in: in, out: out, done: make(chan struct{})}
	var said, complaint head
	go func() { // ends with the channel
		_, _ = io.Copy(&complaint, ch.Stderr())
	}()
	go func() {
		err := skipTo(ch, marker, &said)
		if err == nil {
			_, err = io.Copy(inWriter, io.TeeReader(ch, &said))
		}
		if err == nil {
			err = io.EOF
		}
		_ = inWriter.CloseWithError(err)
	}()
	go func() {
		_, _ = io.Copy(ch, out)
		_ = out.CloseWithError(errBroken) // else the client would write for ever
		_ = ch.CloseWrite()
	}()
	type result struct {
		client *sftp.Client
		err    error
	}
	started := make(chan result, 1)
	go func() {
		ok, err := ch.SendRequest(request, true, gossh.Marshal(struct{ Name string }{argument}))
		if err == nil && !ok {
			err = &noSFTPError{"the server refuses the " + request + " request"}
		}
		if err != nil {
			started <- result{nil, err}
			return
		}
		client, err := sftp.NewClientPipe(in, outWriter, sftp.UseConcurrentWrites(true), sftp.MaxConcurrentRequestsPerFile(inFlight))
		started <- result{client, err}
	}()
	var r result
	select {
	case r = <-started:
	case <-ctx.Done():
		s.kill()
		go func() { // the pipes are broken: it returns, or with the link
			if r := <-started; r.client != nil {
				_ = r.client.Close()
			}
		}()
		return nil, ended(ctx)
	}
	if r.err == nil {
		s.client, s.how = r.client, "works, by "+request
		go func() {
			_ = s.client.Wait()
			s.kill()
		}()
		return s, nil
	}
	s.kill()
	var no *noSFTPError
	switch {
	case errors.As(r.err, &no):
		return nil, r.err
	case !ch.link.aliveSoon():
		return nil, ch.link.lostError(r.err)
	}
	return nil, &noSFTPError{strings.Join(nonEmpty("its first answer is no SFTP packet: "+plain(r.err.Error()), said.quoted("it begins with "), complaint.quoted("it complains ")), "; ")}
}

func nonEmpty(list ...string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// maxNoise is what start-up files may print before the marker.
const maxNoise = 256 << 10

// skipTo reads r up to and with marker.
func skipTo(r io.Reader, marker []byte, said *head) error {
	if len(marker) == 0 {
		return nil
	}
	var tail []byte
	one := make([]byte, 1) // nothing behind the marker may be taken
	for range maxNoise {
		if _, err := io.ReadFull(r, one); err != nil {
			return err
		}
		_, _ = said.Write(one)
		if tail = append(tail, one[0]); bytes.HasSuffix(tail, marker) {
			return nil
		}
		if len(tail) > 4*len(marker) {
			tail = append(tail[:0], tail[len(tail)-len(marker):]...)
		}
	}
	return errors.New("too much text before the SFTP server")
}

const (
	maxHead   = 1 << 10 // bytes that are kept
	maxQuoted = 64      // bytes that an error shows
)

// head keeps the first bytes of a stream.
type head struct {
	mu   sync.Mutex
	data []byte
}

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.data = append(h.data, p[:min(len(p), maxHead-len(h.data))]...)
	return len(p), nil
}

// String returns the first bytes.
func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.data)
}

func (h *head) quoted(before string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.data) == 0 {
		return ""
	}
	return before + fmt.Sprintf("%q", h.data[:min(len(h.data), maxQuoted)])
}

// sftpClients keeps one session and starts a new one after its end.
type sftpClients struct {
	connection *connection
	starting   chan struct{} // holds a token while somebody starts

	mu      sync.Mutex
	current *sftpSession
}

func newClients(c *connection) *sftpClients {
	return &sftpClients{connection: c, starting: make(chan struct{}, 1)}
}

// get returns a living session.
func (m *sftpClients) get(ctx context.Context) (*sftpSession, error) {
	select {
	case m.starting <- struct{}{}:
		defer func() { <-m.starting }()
	case <-ctx.Done():
		return nil, ended(ctx)
	}
	m.mu.Lock()
	s := m.current
	m.mu.Unlock()
	if s != nil && s.alive() && s.channel.link.alive() {
		return s, nil
	}
	startCtx, cancel := context.WithTimeoutCause(ctx, m.connection.options.ConnectTimeout, errTimeout)
	defer cancel()
	s, err := newSession(startCtx, m.connection)
	if err != nil {
		if ctx.Err() == nil && startCtx.Err() != nil {
			return nil, &noSFTPError{"the SFTP server did not answer in time"}
		}
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = s
	return s, nil
}

// close ends the session.
func (m *sftpClients) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current != nil {
		m.current.kill()
	}
}

// unavailable makes a transport error of what get said.
func (m *sftpClients) unavailable(err error) error {
	var no *noSFTPError
	if errors.As(err, &no) {
		h := m.connection.hop
		return transport(ops.KindUnavailable, h.label(), err, "%s has no usable SFTP server: %s", h.address(), no.reason)
	}
	return err
}

// retry runs a reading fn, and once more if the session was lost meanwhile.
func retry[T any](ctx context.Context, m *sftpClients, fn func(context.Context, *sftpSession) (T, error)) (T, error) {
	var none T
	for try := 1; ; try++ {
		s, err := m.get(ctx)
		if err != nil {
			return none, m.unavailable(err)
		}
		v, err := fn(ctx, s)
		switch {
		case err == nil || ctx.Err() != nil || !s.lost(err):
			return v, err
		case s.channel.link.deaf.Load():
			return none, s.channel.link.lostError(err)
		case try == 2 && s.channel.link.aliveSoon():
			l := s.channel.link
			return none, transport(ops.KindUnavailable, l.label, err, "the SFTP server on %s broke off twice: %s", l.addr, plain(err.Error()))
		case try == 2:
			return none, s.channel.link.lostError(err)
		}
	}
}

package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"github.com/piremote/piremote/backends/internal/posix"
	"github.com/piremote/piremote/tools/ops"
)

// Finding is one thing that was looked at.
type Finding struct {
	Name   string // such as "host key"
	OK     bool
	Detail string // what was found
	Mend   string // what to do; empty if nothing, or if nothing is known
}

// Diagnose looks at everything that a workspace on the host needs, in the order in
// which it is needed, and stops at the first thing without which nothing further
// can be seen. It changes nothing on the host.
func Diagnose(ctx context.Context, o Options) []Finding {
	o = o.withDefaults()
	d := &diagnosis{}
	h, err := resolve(ctx, o, o.Host, o.User, o.Port)
	if !d.add("configuration", fmt.Sprintf("%s as %s", h.address(), h.user), err) {
		return d.findings
	}
	if len(h.proxyJump) > 0 || h.proxyCommand != "" {
		d.add("way", "through "+strings.Join(append(h.proxyJump, h.proxyCommand), " "), nil)
	} else if !d.network(ctx, o, h) {
		return d.findings
	}
	c := newConnection(o, h)
	defer c.close()
	begin := time.Now()
	l, err := c.get(ctx)
	d.handshake(l, err, time.Since(begin))
	if err != nil {
		return d.findings
	}
	d.host(ctx, c)
	return d.findings
}

type diagnosis struct{ findings []Finding }

func (d *diagnosis) add(name, detail string, err error) bool {
	f := Finding{Name: name, OK: err == nil, Detail: detail}
	if err != nil {
		f.Detail = err.Error()
		f.Mend = mend(ops.KindOf(err))
	}
	d.findings = append(d.findings, f)
	return f.OK
}

// mend is the general advice for a kind; the sentence of the error is more exact.
func mend(k ops.Kind) string {
	switch k {
	case ops.KindAuth:
		return "add a key that the host accepts to the agent, or name it with IdentityFile"
	case ops.KindHostKey:
		return "compare the fingerprint with the host's own before the key is recorded"
	case ops.KindUnavailable:
		return "check the host name, the port, the network and the firewall"
	case ops.KindNoShell:
		return "file tools work without a shell; for commands give the account a POSIX login shell"
	case ops.KindNoStatus, ops.KindProtocol, ops.KindOutcomeUnknown:
	}
	return ""
}

// network looks up the name and connects.
func (d *diagnosis) network(ctx context.Context, o Options, h hop) bool {
	ctx, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupHost(ctx, h.host)
	if err != nil {
		err = dialFailure(h.label(), h.address(), err)
	}
	if !d.add("name", h.host+" is "+strings.Join(addrs, ", "), err) {
		return false
	}
	begin := time.Now()
	conn, err := h.dialTCP(ctx)
	if err != nil {
		if ops.KindOf(err) == "" {
			err = dialFailure(h.label(), h.address(), err)
		}
		return d.add("TCP", "", err)
	}
	_ = conn.Close()
	return d.add("TCP", fmt.Sprintf("%s answers in %v", h.address(), time.Since(begin).Round(time.Millisecond)), nil)
}

// handshake tells how far the connection came.
func (d *diagnosis) handshake(l *link, err error, took time.Duration) {
	if err == nil {
		d.add("banner", plain(string(l.ServerVersion())), nil)
		d.add("key exchange", strings.Join(nonEmpty(exchange(l.Conn), took.Round(time.Millisecond).String()), ", "), nil)
		d.add("host key", "recorded", nil)
		d.add("authentication", "as "+l.User(), nil)
		return
	}
	steps := []string{"banner", "key exchange", "host key", "authentication"}
	at := map[ops.Kind]int{ops.KindHostKey: 2, ops.KindAuth: 3}[ops.KindOf(err)]
	var broke *phaseError
	if errors.As(err, &broke) {
		at = map[phase]int{phaseKex: 1, phaseAuth: 3}[broke.at]
	}
	for _, s := range steps[:at] {
		d.add(s, "fine", nil)
	}
	d.add(steps[at], "", err)
}

// exchange names the algorithms that both sides agreed on.
func exchange(c gossh.Conn) string {
	m, ok := c.(gossh.AlgorithmsConnMetadata)
	if !ok {
		return ""
	}
	a := m.Algorithms()
	return a.KeyExchange + ", " + a.HostKey
}

// host looks at the shell and its start-up files, and at SFTP. What a program on the
// host could tell else, the workspace's own commands ask.
func (d *diagnosis) host(ctx context.Context, c *connection) {
	shellCtx, cancel := context.WithTimeoutCause(ctx, c.options.ConnectTimeout, errTimeout)
	defer cancel()
	e, err := posix.New(shellCtx, posix.Options{Runner: runner{c}, Dir: "/", Label: c.hop.label(), Backend: "ssh", Shell: c.options.ShellPath})
	if err == nil {
		p := e.Probe()
		d.add("shell", strings.Join(nonEmpty(p.OS, p.Sh, p.Bash), ", "), nil)
		d.login(shellCtx, c)
	} else {
		d.add("shell", "", err)
		d.findings[len(d.findings)-1].Mend = mend(ops.KindNoShell)
	}
	clients := newClients(c)
	defer clients.close()
	s, serr := clients.get(ctx)
	if d.add("SFTP", "works", clients.unavailable(serr)) {
		d.findings[len(d.findings)-1].Detail = s.how
		return
	}
	if err == nil {
		f := &d.findings[len(d.findings)-1]
		f.OK = true
		f.Mend = "files go through the shell; an SFTP server (package openssh-sftp-server) is faster for large ones"
	}
}

// login looks at the account's login shell and at what its start-up files print into
// the output of every command.
func (d *diagnosis) login(ctx context.Context, c *connection) {
	var out head
	nonce := randomHex()
	_, err := runner{c}.Run(ctx, posix.Process{
		Argv:   []string{"/bin/sh", "-c", "eval \"$(cat)\""},
		Stdin:  strings.NewReader("echo;echo " + nonce + "\"$SHELL\"\n"),
		Stdout: func(p []byte) { _, _ = out.Write(p) },
	})
	noise, shell, ok := strings.Cut(out.String(), "\n"+nonce)
	if err != nil {
		d.add("login shell", "", err)
		return
	}
	if !ok { // so much was printed that no more is kept
		noise, shell = out.String(), "unknown"
	}
	d.add("login shell", plain(shell), nil)
	f := Finding{Name: "start-up files", OK: noise == "", Detail: "print nothing"}
	if !f.OK {
		f.Detail = fmt.Sprintf("print %q for each command", plain(noise))
		f.Mend = "it is skipped here, but breaks scp and rsync: let the start-up files print in interactive shells alone"
	}
	d.findings = append(d.findings, f)
}

package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

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
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", h.address())
	if err != nil {
		return d.add("TCP", "", dialFailure(h.label(), h.address(), err))
	}
	_ = conn.Close()
	return d.add("TCP", fmt.Sprintf("%s answers in %v", h.address(), time.Since(begin).Round(time.Millisecond)), nil)
}

// handshake tells how far the connection came.
func (d *diagnosis) handshake(l *link, err error, took time.Duration) {
	steps := []string{"SSH", "host key", "authentication"}
	if err == nil {
		d.add(steps[0], plain(string(l.ServerVersion()))+" in "+took.Round(time.Millisecond).String(), nil)
		d.add(steps[1], "recorded", nil)
		d.add(steps[2], "as "+l.User(), nil)
		return
	}
	at := map[ops.Kind]int{ops.KindHostKey: 1, ops.KindAuth: 2}[ops.KindOf(err)]
	for _, s := range steps[:at] {
		d.add(s, "fine", nil)
	}
	d.add(steps[at], "", err)
}

// host looks at shell, SFTP, programs and clock.
func (d *diagnosis) host(ctx context.Context, c *connection) {
	shellCtx, cancel := context.WithTimeoutCause(ctx, c.options.ConnectTimeout, errTimeout)
	defer cancel()
	e, err := posix.New(shellCtx, posix.Options{Runner: runner{c}, Dir: "/", Label: c.hop.label(), Backend: "ssh", Shell: c.options.ShellPath})
	if err == nil {
		p := e.Probe()
		d.add("shell", strings.Join(nonEmpty(p.OS, p.Sh, p.Bash), ", "), nil)
	} else {
		d.add("shell", "", err)
	}
	clients := newClients(c)
	defer clients.close()
	_, serr := clients.get(ctx)
	d.add("SFTP", "works", clients.unavailable(serr))
	if err != nil {
		return
	}
	p := e.Probe()
	if p.Ripgrep != "" {
		d.add("ripgrep", p.Ripgrep, nil)
	} else {
		d.findings = append(d.findings, Finding{Name: "ripgrep", OK: true, Detail: "not installed; searches work without it"})
	}
	d.programs(ctx, c)
}

// programs asks for git and the time.
func (d *diagnosis) programs(ctx context.Context, c *connection) {
	var out strings.Builder
	nonce := randomHex()
	before := time.Now()
	_, err := runner{c}.Run(ctx, posix.Process{
		Argv:   []string{"/bin/sh", "-c", "eval \"$(cat)\""},
		Stdin:  strings.NewReader("echo;echo " + nonce + ";command -v git||echo -;date +%s\n"),
		Stdout: func(p []byte) { out.Write(p[:min(len(p), 4096)]) },
	})
	after := time.Now()
	_, text, ok := strings.Cut(out.String(), "\n"+nonce+"\n")
	lines := strings.Fields(text)
	if err == nil && (!ok || len(lines) < 2) {
		err = errors.New("the host did not answer")
	}
	if err != nil {
		d.add("programs", "", err)
		return
	}
	if lines[0] == "-" {
		d.findings = append(d.findings, Finding{Name: "git", OK: true, Detail: "not installed"})
	} else {
		d.add("git", plain(lines[0]), nil)
	}
	seconds, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return
	}
	theirs := time.Unix(seconds, 0)
	var off time.Duration
	switch {
	case theirs.Before(before.Add(-time.Second)):
		off = theirs.Sub(before)
	case theirs.After(after):
		off = theirs.Sub(after)
	}
	f := Finding{Name: "clock", OK: off.Abs() < time.Minute, Detail: fmt.Sprintf("differs by %v", off.Round(time.Second))}
	if !f.OK {
		f.Mend = "set the clock of the host or of this machine: makefiles and certificates go by it"
	}
	d.findings = append(d.findings, f)
}

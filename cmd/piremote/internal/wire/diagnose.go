package wire

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/piremote/piremote/backends/docker"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/ssh"
	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/textout"
)

// Finding is one thing that works on a workspace, or does not.
type Finding struct {
	Name   string
	OK     bool
	Detail string // what was seen
	Mend   string // what to do about it; empty if nothing is wrong
}

// Diagnose opens the workspace and looks at what works there. The error is that
// of opening; the findings tell how far it came.
func Diagnose(ctx context.Context, o Options) ([]Finding, error) {
	findings := []Finding{{Name: "workspace", OK: true, Detail: describe(o)}}
	findings = append(findings, wayFindings(ctx, o)...)
	start := time.Now()
	reason := &reasons{next: o.Notice}
	o.Notice = reason.notice
	ws, err := Open(ctx, o)
	if err != nil {
		return append(findings, Finding{Name: "connection", Detail: err.Error(), Mend: mend(err)}), err
	}
	defer func() { _ = ws.Close() }() // what it left is of no use for the report
	t := ws.Set.Target
	findings = append(findings,
		Finding{Name: "connection", OK: true, Detail: fmt.Sprintf("%s in %d ms", t.Label, time.Since(start).Milliseconds())},
		Finding{Name: "system", OK: t.OS != "", Detail: or(t.OS, "unknown"), Mend: ifEmpty(t.OS, "only a shell on the target can tell")},
		Finding{Name: "folder", OK: true, Detail: t.Dir},
	)
	findings = append(findings, confinementFindings(ws.Set, o.confine())...)
	findings = append(findings, sandboxFindings(ws)...)
	findings = append(findings, helperFindings(ctx, ws, o, reason)...)
	findings = append(findings, shellFindings(ctx, ws.Set)...)
	for _, weak := range t.Weaker {
		findings = append(findings, Finding{Name: "weaker", OK: true, Detail: weak})
	}
	return findings, nil
}

// helperFindings tells what the helper on the target is and what it runs there.
func helperFindings(ctx context.Context, ws *Workspace, o Options, why *reasons) []Finding {
	if o.Workspace.Backend == "local" {
		return nil
	}
	if ws.Remote == nil {
		return []Finding{{
			Name: "helper", OK: true, Detail: "not used: " + why.withoutHelper(),
			Mend: "without it each operation takes several round trips, and what the lines named weaker say holds; helper: auto uses it where it can run",
		}}
	}
	r := ws.Remote.Report()
	findings := []Finding{{Name: "helper", OK: true, Detail: fmt.Sprintf("%s for %s/%s, version %.12s", r.Path, r.OS, r.Arch, r.Hash)}}
	for _, p := range r.Passed {
		findings = append(findings, Finding{Name: "helper", OK: true, Detail: "passed over: " + p})
	}
	found, err := ws.Remote.Inventory(ctx, false)
	if err != nil {
		return append(findings, Finding{Name: "sessions", Detail: err.Error(), Mend: "look at the folder of the helper"})
	}
	for _, s := range found.Sessions {
		f := Finding{Name: "session", OK: true, Detail: DescribeSession(s)}
		if s.State != helper.SessionAttended {
			f.Mend = "piremote gc removes it"
		}
		findings = append(findings, f)
	}
	for _, c := range found.Copies {
		f := Finding{Name: "helper", OK: true, Detail: DescribeCopy(c)}
		f.Mend = ifTrue(!c.InUse, "piremote gc removes it")
		findings = append(findings, f)
	}
	return findings
}

// DescribeCopy says in words what a helper of another version on a target is.
func DescribeCopy(c helper.Copy) string {
	used := "used last"
	if c.InUse {
		used = "in use since"
	}
	return fmt.Sprintf("%s of another version, %s, %s %s", c.Name, textout.FormatSize(c.Size), used, c.Used.Format(time.RFC3339))
}

// DescribeSession says in words what a session on a target is.
func DescribeSession(s helper.Session) string {
	switch s.State {
	case helper.SessionAttended:
		return fmt.Sprintf("%s is attended, process %d, since %s", s.Name, s.PID, s.Since.Format(time.RFC3339))
	case helper.SessionAlone:
		return fmt.Sprintf("%s waits for its client until %s, process %d", s.Name, s.Until.Format(time.RFC3339), s.PID)
	case helper.SessionEnded:
	}
	return fmt.Sprintf("%s has ended and left its journal, %s", s.Name, s.Since.Format(time.RFC3339))
}

// wayFindings looks at each step of the way to a remote workspace.
func wayFindings(ctx context.Context, o Options) []Finding {
	var findings []Finding
	switch o.Workspace.Backend {
	case "ssh":
		for _, f := range ssh.Diagnose(ctx, sshOptions(o)) {
			findings = append(findings, Finding(f))
		}
	case "docker":
		options, done := dockerOptions(o)
		defer done()
		list, _ := docker.Diagnose(ctx, options) // opening will meet the same error
		for _, f := range list {
			findings = append(findings, Finding{Name: f.Name, OK: f.OK, Detail: f.Detail})
		}
	}
	return findings
}

func describe(o Options) string {
	w := o.Workspace
	parts := []string{w.Backend}
	for _, p := range []string{w.Host, w.Container, w.Sandbox.Image, w.Path} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, " ")
}

// shellFindings runs one harmless command and looks for programs.
func shellFindings(ctx context.Context, set ops.Set) []Finding {
	if set.Bash == nil {
		return []Finding{{Name: "shell", Detail: "none", Mend: "file tools work; bash needs a shell on the target"}}
	}
	var out strings.Builder
	script := `for p in rg git; do printf '%s=%s\n' "$p" "$(command -v "$p")"; done; df -Pk . 2>/dev/null | awk 'NR==2 {print "disk=" $4}'; echo "clock=$(date +%s)"`
	exit, err := set.Bash.Exec(ctx, ops.Command{Script: script, Dir: set.Target.Dir, Timeout: 20 * time.Second}, func(c ops.Chunk) { out.Write(c.Data) })
	if err != nil {
		return []Finding{{Name: "shell", Detail: err.Error(), Mend: mend(err)}}
	}
	return append([]Finding{{Name: "shell", OK: true, Detail: exit.Shell}}, targetFindings(out.String(), time.Now())...)
}

// targetFindings reads what the command said about programs, disk and clock, at a
// time of this machine.
func targetFindings(said string, now time.Time) (findings []Finding) {
	values := map[string]string{}
	for _, line := range strings.Split(said, "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			values[name] = value
		}
	}
	for _, program := range []struct{ name, mend string }{
		{"rg", "only searches without the helper are slower for it: install the package ripgrep on the target"},
		{"git", "only commands that call it miss it: install the package git on the target"},
	} {
		found := values[program.name]
		findings = append(findings, Finding{Name: program.name, OK: true, Detail: or(found, "not there"), Mend: ifEmpty(found, program.mend)})
	}
	var kilobytes, clock int64
	if _, err := fmt.Sscan(values["disk"], &kilobytes); err == nil {
		f := Finding{Name: "disk", OK: kilobytes > 64<<10, Detail: fmt.Sprintf("%d MB free", kilobytes>>10)}
		f.Mend = ifTrue(!f.OK, "free some space: writes will fail soon")
		findings = append(findings, f)
	}
	if _, err := fmt.Sscan(values["clock"], &clock); err == nil {
		skew := now.Sub(time.Unix(clock, 0)).Round(time.Second)
		f := Finding{Name: "clock", OK: skew.Abs() < 2*time.Minute, Detail: fmt.Sprintf("differs by %v", skew)}
		f.Mend = ifTrue(!f.OK, "set the clock of the target")
		findings = append(findings, f)
	}
	return findings
}

// mend says what to do about an error of the way to the target.
func mend(err error) string {
	switch ops.KindOf(err) {
	case ops.KindUnavailable:
		return "check the address, that the host, daemon or container runs, and that the folder exists"
	case ops.KindAuth:
		return "check the user and the keys: ssh-add -l lists those of the agent"
	case ops.KindHostKey:
		return "compare the fingerprint with the host's own, then add it to known_hosts"
	case ops.KindNoShell:
		return "file tools work; commands need a shell on the target"
	case ops.KindNoStatus, ops.KindProtocol, ops.KindOutcomeUnknown:
	}
	return "see the message"
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func ifEmpty(s, text string) string { return ifTrue(s == "", text) }

func ifTrue(cond bool, text string) string {
	if cond {
		return text
	}
	return ""
}

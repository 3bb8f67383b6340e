package docker

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// Finding is one thing that works, or does not.
type Finding struct {
	Name   string
	OK     bool
	Detail string // what was seen
}

// Diagnose looks at each step of opening a container: the daemon, the
// container, the shell in it, its user and ripgrep. It stops at the first step
// that fails, with the error that Open would return. Nothing is changed.
func Diagnose(ctx context.Context, o Options) ([]Finding, error) {
	r, s, err := reach(ctx, o)
	if r == nil {
		return []Finding{{Name: "daemon", Detail: err.Error()}}, err
	}
	defer func() { _ = r.daemon.Close() }() // it may be closed already
	findings := r.daemonFindings(ctx)
	if err != nil {
		if findings[0].OK {
			findings = append(findings, Finding{Name: "container", Detail: err.Error()})
		}
		return findings, err
	}
	findings = append(findings, Finding{Name: "container", OK: true, Detail: fmt.Sprintf("%s (%.12s), %s", s.Name, s.ID, s.Status)})
	w, err := open(ctx, o, r, s)
	if err != nil {
		return append(findings, Finding{Name: "shell", Detail: err.Error()}), err
	}
	defer func() { _ = w.Close() }() //nolint:contextcheck // it leaves nothing
	return append(findings, w.look(ctx)...), nil
}

// podmanFinding says what differs where Podman serves Docker's API.
const podmanFinding = "containers and sandboxes work, as with Docker, but for a sandbox on a copy of a folder, which is refused"

// daemonFindings are about the daemon; the first says whether it answers.
func (r *runner) daemonFindings(ctx context.Context) []Finding {
	bounded, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	v, err := r.daemon.Version(bounded)
	if err != nil {
		return []Finding{{Name: "daemon", Detail: r.refused(bounded, err, "tell its version").Error()}}
	}
	findings := []Finding{{Name: "daemon", OK: true, Detail: fmt.Sprintf("%s: version %s for %s, API %s", r.target.endpoint, v.Engine, v.OS, v.API)}}
	if v.Podman {
		findings = append(findings, Finding{Name: "podman", OK: true, Detail: podmanFinding})
	}
	return findings
}

// look asks the container's shell.
func (w *Workspace) look(ctx context.Context) []Finding {
	var out strings.Builder
	exit, err := w.set.Bash.Exec(ctx, ops.Command{Script: "id; command -v rg", Timeout: 20 * time.Second}, func(c ops.Chunk) { out.Write(c.Data) })
	if err != nil {
		return []Finding{{Name: "shell", Detail: err.Error()}}
	}
	findings := []Finding{
		{Name: "shell", OK: !exit.TimedOut, Detail: path.Base(exit.Shell) + " at " + exit.Shell},
		{Name: "folder", OK: true, Detail: w.set.Target.Dir},
	}
	user, rg, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	if rg == "" {
		rg = "not there; search works without it, slower"
	}
	return append(findings, Finding{Name: "user", OK: user != "", Detail: user}, Finding{Name: "rg", OK: true, Detail: rg})
}

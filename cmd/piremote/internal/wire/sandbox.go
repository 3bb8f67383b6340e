package wire

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/piremote/piremote/backends/docker"
	"github.com/piremote/piremote/config"
)

// openSandbox makes a sandbox, and tells what it is and enforces.
func openSandbox(ctx context.Context, o Options) (*Workspace, error) {
	options, done, err := sandboxOptions(o)
	if err != nil {
		return nil, err
	}
	s, err := docker.OpenSandbox(ctx, options)
	if err != nil {
		done()
		return nil, err
	}
	r := s.Report()
	o.Notice(fmt.Sprintf("Sandbox %s of %s: %s.", r.Name, options.Image, strings.Join(r.Enforced, "; ")))
	if len(r.Missing) > 0 {
		o.Notice("The sandbox is weaker than it could be: " + strings.Join(r.Missing, "; ") + ".")
	}
	if r.Copied != "" && options.Folder != "" {
		o.Notice(fmt.Sprintf("It works on a copy of %s: %s.", options.Folder, r.Copied))
	}
	return (&Workspace{Set: s.Set(), Remote: s.Remote(), Sandbox: &r}).owned(before(done, s.Close)), nil
}

// sandboxOptions are the options of a sandbox for a described workspace. What the way
// to the daemon needs is given up by done.
func sandboxOptions(o Options) (options docker.SandboxOptions, done func(), err error) {
	w := o.Workspace.Sandbox
	memory, err := ParseMemory(w.Memory)
	if err != nil {
		return options, nil, &config.Error{Key: "sandbox.memory", Msg: err.Error()}
	}
	folder, err := sandboxFolder(o)
	if err != nil {
		return options, nil, err
	}
	options = docker.SandboxOptions{
		Image: w.Image, Folder: folder, Copy: w.Copy,
		Network: w.Network, Memory: memory, CPUs: w.CPUs, Pids: w.Pids, Keep: w.Keep,
		StateDir: stateFolder(o.Env, "sandboxes"), ChangesDir: stateFolder(o.Env, "changes"),
	}
	for _, m := range w.Mounts {
		host, inside, ok := strings.Cut(m, ":")
		if ok && (host == "." || strings.HasPrefix(host, "./") || strings.HasPrefix(host, "../") || strings.HasPrefix(host, "~")) {
			if host, err = filepath.Abs(underHome(lookup(o.Env, "HOME"), host)); err != nil {
				return options, nil, fmt.Errorf("mount %s: %w", m, err)
			}
			m = host + ":" + inside
		}
		options.Mounts = append(options.Mounts, m)
	}
	daemon, done := dockerOptions(o)
	daemon.Env = w.Env
	options.Options = daemon
	return options, done, nil
}

// stateFolder is where this account keeps something from one run to the next: which
// sandboxes are in use, and what they changed; empty if it has no place for that.
func stateFolder(env []string, what string) string {
	state := or(lookup(env, "XDG_STATE_HOME"), underHome(lookup(env, "HOME"), "~/.local/state"))
	if !filepath.IsAbs(state) {
		return ""
	}
	return filepath.Join(state, "piremote", what)
}

// sandboxFolder is the folder of this machine that a sandbox works on.
func sandboxFolder(o Options) (string, error) {
	return filepath.Abs(underHome(lookup(o.Env, "HOME"), or(o.Workspace.Sandbox.Folder, ".")))
}

// ChangeSet is what a sandbox changed in its copy of a folder.
type ChangeSet = docker.ChangeSet

// SandboxChanges returns what sandboxes that have ended changed in their copies of the
// folder, that of the workspace or the current one; the oldest first.
func SandboxChanges(o Options) ([]*ChangeSet, error) {
	folder, err := sandboxFolder(o)
	if err != nil {
		return nil, err
	}
	return docker.Changes(stateFolder(o.Env, "changes"), folder)
}

// minMemory is what the helper needs and some for a command.
const minMemory = 32 << 20

// ParseMemory reads a size such as 512m or 2g, in bytes; empty is 0 and "none" is -1.
func ParseMemory(text string) (int64, error) {
	switch text {
	case "":
		return 0, nil
	case "none":
		return -1, nil
	}
	digits, unit := strings.ToLower(strings.TrimSuffix(strings.ToLower(text), "b")), 1.0
	if i := strings.IndexByte("kmgt", digits[max(len(digits)-1, 0)]); i >= 0 {
		digits, unit = digits[:len(digits)-1], math.Pow(1024, float64(i+1))
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n*unit >= minMemory && n*unit < 1<<50) {
		return 0, fmt.Errorf("%q is no size of at least 32m: write a number with k, m or g, or none", text)
	}
	return int64(n * unit), nil
}

// sandboxFindings tell what the sandbox is that was made.
func sandboxFindings(w *Workspace) []Finding {
	if w.Sandbox == nil {
		return nil
	}
	findings := []Finding{{Name: "sandbox", OK: true, Detail: w.Sandbox.Name + ", made for this and removed after it"}}
	if w.Sandbox.Copied != "" {
		findings = append(findings, Finding{Name: "copy", OK: true, Detail: "the folder is copied: " + w.Sandbox.Copied})
	}
	for _, text := range w.Sandbox.Enforced {
		findings = append(findings, Finding{Name: "enforced", OK: true, Detail: text})
	}
	for _, text := range w.Sandbox.Missing {
		findings = append(findings, Finding{Name: "weaker", OK: true, Detail: text})
	}
	return findings
}

// CollectSandboxes removes the sandboxes that lost clients left at the daemon of the
// workspace, as docker.Collect does. Where the workspace is no sandbox, and none was
// noted on this machine, no daemon is asked.
func CollectSandboxes(ctx context.Context, o Options) ([]docker.Leftover, error) {
	state := stateFolder(o.Env, "sandboxes")
	if o.Workspace.Backend != "sandbox" && !noted(state) {
		return nil, nil
	}
	options, done := dockerOptions(o)
	defer done()
	return docker.Collect(ctx, options, state, stateFolder(o.Env, "changes"))
}

// noted reports whether a sandbox is noted in a folder.
func noted(state string) bool {
	list, err := os.ReadDir(state)
	return err == nil && len(list) > 0
}

package docker

import (
	"fmt"
	"strings"
	"time"
)

// SandboxReport says what a sandbox is and what it enforces.
type SandboxReport struct {
	ID, Name string
	User     string // of commands, uid:gid
	// Copied says why the folder was copied; empty if it is mounted.
	Copied string
	// Enforced and Missing are sentences without a stop about what holds, and about
	// what does not: it was asked for, or the daemon can't enforce it.
	Enforced, Missing []string
}

// report says what holds in a sandbox.
func (o SandboxOptions) report(t target, user, copied string, can machine) SandboxReport {
	r := SandboxReport{ID: t.id, Name: t.name, User: user, Copied: copied}
	writable := []string{o.Dir, "/tmp", sandboxHome}
	for _, m := range o.Mounts {
		if b, err := parseMount(m); err == nil && !b.ReadOnly {
			writable = append(writable, b.Target)
		}
	}
	r.Enforced = []string{
		"commands run as " + user + " without capabilities, and can gain no privilege",
		"nothing can be written but " + strings.Join(writable, ", "),
		fmt.Sprintf("/tmp and %s are in memory, at most %d MiB each, and end with the sandbox", sandboxHome, o.tmpfsSize()>>20),
		fmt.Sprintf("it ends at %s at the latest", time.Now().Add(o.Lifetime).Format(time.RFC3339)),
	}
	if o.Network == defaultNetwork {
		r.Enforced = append(r.Enforced, "there is no network")
	} else {
		r.Missing = append(r.Missing, "the network "+o.Network+" can be reached, as was asked for")
	}
	for _, l := range []struct {
		wanted, can   bool
		text, without string
	}{
		{o.Memory > 0, can.Memory, fmt.Sprintf("at most %d MiB of memory", o.Memory>>20), "memory is not limited"},
		{o.Memory > 0, can.Swap, "no swap beyond that", "swap is not limited"},
		{o.CPUs > 0, can.CPU, fmt.Sprintf("at most %g processors", o.CPUs), "processors are not limited"},
		{o.Pids > 0, can.Pids, fmt.Sprintf("at most %d processes and threads", o.Pids), "processes are not limited"},
		{true, can.Seccomp, "system calls are filtered", ""},
	} {
		switch {
		case !l.wanted:
			r.Missing = append(r.Missing, l.without+", as was asked for")
		case l.can:
			r.Enforced = append(r.Enforced, l.text)
		default:
			r.Missing = append(r.Missing, "the daemon can't enforce: "+l.text)
		}
	}
	return r
}

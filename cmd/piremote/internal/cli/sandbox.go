package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/piremote/piremote/cmd/piremote/internal/wire"
	"github.com/piremote/piremote/config"
)

// sandboxFlags are the flags of sandbox:// workspaces. They come before what the
// configuration says of a named one.
type sandboxFlags struct {
	network, memory, user string
	cpus                  float64
	pids                  int64
	mounts, env           []string
	keep, copies          bool
	set                   *pflag.FlagSet
}

func (s *sandboxFlags) add(f *pflag.FlagSet) {
	s.set = f
	f.StringVar(&s.network, "network", "", "sandbox: none (the default), bridge, or the name of a network")
	f.StringVar(&s.memory, "memory", "", "sandbox: limit of memory, such as 512m or 2g (the default), or none")
	f.Float64Var(&s.cpus, "cpus", 0, "sandbox: limit of processors (default 2); -1 for none")
	f.Int64Var(&s.pids, "pids", 0, "sandbox: limit of processes and threads (default 512); -1 for none")
	f.StringArrayVar(&s.mounts, "mount", nil, "sandbox: a further folder, host:container[:ro] or tmpfs:container; may be repeated")
	f.StringArrayVar(&s.env, "env", nil, "sandbox: a variable for commands, NAME=value; may be repeated")
	f.StringVar(&s.user, "user", "", "sandbox: who runs commands, uid[:gid] (default: the owner of the folder)")
	f.BoolVar(&s.keep, "keep", false, "sandbox: leave the container when the session ends")
	f.BoolVar(&s.copies, "copy", false, "sandbox: work on a copy of the folder")
}

// names are those of the flags.
func (s *sandboxFlags) names() []string {
	return []string{"network", "memory", "cpus", "pids", "mount", "env", "user", "keep", "copy"}
}

// put adjusts a workspace as the flags say.
func (s *sandboxFlags) put(w config.Workspace) (config.Workspace, error) {
	var given []string
	for _, name := range s.names() {
		if s.set.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 0 && w.Backend != "sandbox" {
		return w, &usageError{fmt.Errorf("%s is for sandboxes: give -w sandbox://image:tag/path", strings.Join(given, ", "))}
	}
	if _, err := wire.ParseMemory(s.memory); err != nil {
		return w, &usageError{fmt.Errorf("--memory: %w", err)}
	}
	o := &w.Sandbox
	for _, text := range []struct {
		to   *string
		flag string
	}{{&o.Network, s.network}, {&o.Memory, s.memory}, {&w.User, s.user}} {
		if text.flag != "" {
			*text.to = text.flag
		}
	}
	if s.cpus != 0 {
		o.CPUs = s.cpus
	}
	if s.pids != 0 {
		o.Pids = s.pids
	}
	o.Mounts, o.Env = append(o.Mounts, s.mounts...), append(o.Env, s.env...)
	o.Keep, o.Copy = o.Keep || s.keep, o.Copy || s.copies
	return w, nil
}

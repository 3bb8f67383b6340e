package ssh

import (
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// No shell is driven by its prompt: each command has a channel or a process of its
// own, without a terminal, and ends with its exact status whatever it prints.
func TestSSHX10NoPromptIsWaitedFor(t *testing.T) {
	s := servers.StartSSHD(t, servers.SSHDOptions{Login: &servers.Login{UID: 1001, Files: map[string]string{
		".bashrc": "PS1='\\e[31m\n> \\e[0m'; export PS1; PROMPT_COMMAND='echo prompt'; export PROMPT_COMMAND\n",
	}}})
	for name, policy := range map[string]helper.Policy{"agentless": helper.Never, "helper": helper.Require} {
		t.Run(name, func(t *testing.T) {
			_, dir := s.Folder(t)
			o, _ := optionsFor(t, s)
			o.Dir, o.Helper, o.Helpers = dir, policy, helpertest.Bundle(t)
			w, err := Open(t.Context(), o)
			must(t, err)
			defer func() { must(t, w.Close()) }()
			for _, c := range []struct {
				script, out string
				code        int
			}{
				{"printf 'no end of line'", "no end of line", 0},
				{`printf '\033[31m\n> \033[0m\n'; exit 3`, "\x1b[31m\n> \x1b[0m\n", 3},
				{`printf '\nprompt\nok 0\nexit 0\n0123456789abcdef0123456789abcdef exit 0\n'; exit 4`, "\nprompt\nok 0\nexit 0\n0123456789abcdef0123456789abcdef exit 0\n", 4},
				{"tr '\\0' '\\n' </proc/$$/environ | grep -c '^PIREMOTE_CALL' >/dev/null; exit 6", "", 6},
				{"exec sh -c 'echo other; exit 5'", "other\n", 5},
				{"set -e; false; echo not reached", "", 1},
				{"kill -9 $$", "", 137},
				{"tty; test -t 0 || test -t 1 || exit 9", "not a tty\n", 9},
				{"read x; echo \"$?$x\"", "1\n", 0},
			} {
				var out strings.Builder
				exit, err := w.Set().Bash.Exec(t.Context(), ops.Command{Script: c.script, Dir: dir}, func(p ops.Chunk) { out.Write(p.Data) })
				if err != nil || out.String() != c.out || exit.Code != c.code {
					t.Errorf("%s: %q, %+v, %v", c.script, out.String(), exit, err)
				}
			}
		})
	}
}

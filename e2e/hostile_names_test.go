//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Names of hosts, aliases and users that an option parser or a shell would take for
// something else are refused before anything runs (hazards SSHC-10, BASH-03).
func TestSSHC10HostileNamesRunNothing(t *testing.T) {
	home := t.TempDir()
	ran := filepath.Join(home, "ran")
	// Whatever asks for an ssh client gets this one, which is no use to anybody.
	program := fmt.Sprintf("#!/bin/sh\necho \"$@\" >>%s\nexit 1\n", ran)
	if err := os.WriteFile(filepath.Join(home, "ssh"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "PATH=" + home + ":" + os.Getenv("PATH")}
	touch := "touch${IFS}" + ran
	for _, name := range []string{
		"-oProxyCommand=" + touch, "-F" + ran, "--", "-", "a;id", "a;" + touch, "$(" + touch + ")", "`" + touch + "`", "a|id", "a&id",
		"a>x", "a<x", "a'b", `a"b`, `a\b`, "a(b", "a{b,c}", "a b", "a\nb", "a\tb", "a\rProxyCommand id", "a\x1b[2Jb", "a\x7fb",
	} {
		host := strings.ReplaceAll(name, "/", "")
		for _, address := range []string{"ssh://" + host + "/x", "ssh://" + host + "@127.0.0.1:1/x", host + ":x", host + "@127.0.0.1:x"} {
			r := run(t, env, "-w", address, "tool", "bash", "command=true")
			if r.code != 2 || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || strings.ContainsAny(r.stderr, "\x1b\x7f\r") {
				t.Errorf("%q: exit code %d, stdout %q, stderr %q", address, r.code, r.stdout, r.stderr)
			}
		}
	}
	if said, err := os.ReadFile(ran); err == nil {
		t.Errorf("something ran: %s", said)
	}
}

package ssh

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/internal/posix"
)

// Dropbear ends a channel whose input comes before its command was started; OpenSSH
// takes none before.
func TestInputWaitsForTheCommand(t *testing.T) {
	s := servers.StartDropbear(t, servers.DropbearOptions{Login: servers.Login{UID: 1001}})
	c := starterOn(t, s, nil).connection
	for i := range 20 {
		var out strings.Builder
		line := fmt.Sprintf("line %d\n", i)
		status, err := runner{c}.Run(t.Context(), posix.Process{
			Argv: []string{"/bin/sh", "-c", "cat; exit 3"}, Stdin: strings.NewReader(line), Stdout: func(p []byte) { out.Write(p) },
		})
		if err != nil || status.Code != 3 || out.String() != line {
			t.Fatalf("command %d: %q, %+v, %v", i, out.String(), status, err)
		}
	}
}

// A Dropbear that has no RSA key offers RSA none the less, and dies of a client that
// chooses it.
func TestNewHostIsAskedForItsEd25519Key(t *testing.T) {
	s := servers.StartDropbear(t, servers.DropbearOptions{Login: servers.Login{UID: 1001}})
	must(t, os.WriteFile(s.KnownHosts, nil, 0o600))
	starterOn(t, s, func(o *Options) { o.AcceptNew = true })
	if recorded := string(must2(t, s.KnownHosts)); !strings.Contains(recorded, "ssh-ed25519 ") {
		t.Errorf("recorded: %q", recorded)
	}
}

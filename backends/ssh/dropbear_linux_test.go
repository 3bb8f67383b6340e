package ssh

import (
	"fmt"
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

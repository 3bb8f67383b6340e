package supervisor

import (
	"strings"
	"testing"
)

// The test's own input is no socket.
func TestRunRefusesAnythingButItsChannel(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}} {
		var stderr strings.Builder
		if code := Run(args, &stderr); code != usageStatus || !strings.HasPrefix(stderr.String(), "supervisor: ") {
			t.Errorf("%v: %d, %q", args, code, stderr.String())
		}
	}
}

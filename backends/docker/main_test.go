//go:build linux

package docker

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/piremote/piremote/backends/backendtest/servers"
)

func TestMain(m *testing.M) {
	release := servers.KeepDockerd()
	code := m.Run()
	release()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // the end of a test's program
}

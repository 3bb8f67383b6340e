package ssh

import (
	"os"
	"testing"

	"github.com/piremote/piremote/backends/backendtest/confinement"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/tools/ops"
)

// The server's own REALPATH is never asked, so that one that resolves it otherwise
// changes no verdict.
func TestCONF06MazesMeanWhatTheKernelSaysBySFTP(t *testing.T) {
	mazesOn(t, openTarget(t, fileServer(t), nil), 8, 2000)
}

func TestCONF03MazesMeanWhatTheKernelSaysByScripts(t *testing.T) {
	g := openTarget(t, servers.StartSSHD(t, servers.SSHDOptions{}), func(o *Options) { o.Files = FilesShell })
	mazesOn(t, g, 1, 200)
}

// mazesOn opens mazes over one connection; long is their number in the long form.
func mazesOn(t *testing.T, g *target, short, long int) {
	t.Helper()
	if os.Getenv("PIREMOTE_SOAK") == "1" { //nolint:forbidigo // tests read their own switches
		short = long
	}
	confinement.Mazes(t, short, folders(g))
}

// folders opens folders over one connection.
func folders(g *target) func(t *testing.T, root string) ops.Set {
	return func(t *testing.T, root string) ops.Set {
		t.Helper()
		set, err := g.Set().At(root, root)
		must(t, err)
		return set
	}
}

//go:build unix

package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// chrootFolder is where a server's namespace has the root of its sessions.
const chrootFolder = "/mnt"

// busyBoxRoot makes a root in dir whose only programs are those of BusyBox, with a
// folder /ws.
func busyBoxRoot(tb testing.TB, dir string) string {
	tb.Helper()
	root := filepath.Join(dir, "root")
	for _, name := range []string{"bin", "dev", "proc", "etc", "home", "ws"} {
		check(tb, os.MkdirAll(filepath.Join(root, name), 0o755))
	}
	check(tb, os.Mkdir(filepath.Join(root, "tmp"), 0o700))
	check(tb, os.Chmod(filepath.Join(root, "tmp"), 0o1777|os.ModeSticky))
	check(tb, os.WriteFile(filepath.Join(root, "bin", "busybox"), busyBox(tb), 0o755))
	applets, err := exec.CommandContext(tb.Context(), busyBoxProgram, "--list").Output()
	check(tb, err)
	for _, name := range strings.Fields(string(applets)) {
		if name != "busybox" {
			check(tb, os.Symlink("busybox", filepath.Join(root, "bin", name)))
		}
	}
	return root
}

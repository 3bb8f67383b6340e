package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/backendtest/servers"
)

// The folder of a daemon on another machine is not this one: whether it has none of the
// name, or another one, the sandbox works on a copy and says so.
func TestSandboxOfAFarDaemonWorksOnACopy(t *testing.T) {
	t.Parallel()
	o := sandboxOptions(t)
	missing, another := filepath.Join(o.Folder, "hidden", "dir"), filepath.Join(o.Folder, "another")
	must(t, os.MkdirAll(missing, 0o755))
	must(t, os.Mkdir(another, 0o755))
	d := servers.StartFarDockerd(t, filepath.Dir(missing), another)
	o.Host, o.Image, o.ChangesDir = d.Host, d.BusyBox(t), t.TempDir()
	for folder, want := range map[string]string{missing: "can't mount it", another: "on another machine, where " + another + " is another folder"} {
		own(t, folder)
		put(t, filepath.Join(folder, "a.txt"), "hello\n")
		var notices []string
		o.Folder, o.Notice = folder, func(text string) { notices = append(notices, text) }
		s, err := OpenSandbox(t.Context(), o)
		must(t, err)
		if got := sh(t, s.Set(), "cat a.txt; id -u; echo new >a.txt"); got != "hello\n1001\n" || get(t, filepath.Join(folder, "a.txt")) != "hello\n" {
			t.Errorf("%q", got)
		}
		if !strings.Contains(s.Report().Copied, want) || !strings.Contains(strings.Join(notices, "\n"), "The folder is copied into the sandbox, since the daemon at unix://") {
			t.Errorf("%q, %q", s.Report().Copied, notices)
		}
		must(t, s.Close())
		sets, err := Changes(o.ChangesDir, folder)
		if err != nil || len(sets) != 1 || len(sets[0].Changes) != 1 {
			t.Errorf("%+v, %v", sets, err)
		}
	}
}

package wire

import (
	"testing"
	"time"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/config"
)

// What doctor says about each kind of server: every step of the way, and what the
// target has, or that there is no shell to ask; each fault with its mend.
func TestDoctorOnEveryKindOfServer(t *testing.T) {
	t.Parallel() // most of it waits
	for _, kind := range servers.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := kind.Start(t)
			_, dir := s.Folder(t)
			list, err := Diagnose(t.Context(), Options{
				Workspace: config.Workspace{
					Backend: "ssh", Host: s.Host, Port: s.Port, User: s.User, Path: dir, Helper: "never",
					IdentityFiles: []string{s.IdentityFile}, KnownHosts: []string{s.KnownHosts},
				},
				Config: &config.Config{SSH: config.SSH{ConfigFile: "none", ConnectTimeout: time.Minute}},
				Env:    []string{"HOME=" + s.Home},
			})
			if err != nil {
				t.Fatalf("%v\n%+v", err, list)
			}
			said := map[string]Finding{}
			for _, f := range list {
				said[f.Name] = f
				if !f.OK && f.Mend == "" {
					t.Errorf("no mend: %+v", f)
				}
			}
			steps := []string{"name", "TCP", "banner", "key exchange", "host key", "authentication", "shell", "SFTP", "connection", "system", "folder", "helper"}
			if !kind.NoShell {
				steps = append(steps, "login shell", "start-up files", "rg", "git", "disk", "clock")
			}
			for _, name := range steps {
				f, told := said[name]
				works := name != "shell" && name != "system" || !kind.NoShell
				works = works && (name != "start-up files" || kind.Name != "noisy")
				if !told || f.OK != works && name != "disk" { // the machine's own
					t.Errorf("%s: %+v", name, f)
				}
			}
		})
	}
}

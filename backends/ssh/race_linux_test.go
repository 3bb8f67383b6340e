package ssh

import (
	"testing"

	"github.com/piremote/piremote/backends/backendtest/confinement"
	"github.com/piremote/piremote/backends/backendtest/servers"
)

// Scripts enter a folder and see where they are before they use a name in it. What the
// SFTP server looks at beside them tells at most that something is there.
func TestCONF04RacerOfScripts(t *testing.T) {
	n := confinement.Lengths{Short: 40, Long: 2000}
	g := openTarget(t, servers.StartSSHD(t, servers.SSHDOptions{}), nil)
	t.Run("with SFTP", func(t *testing.T) { confinement.Racer(t, n, folders(g)).NoContent(t) })
	g = openTarget(t, g.server, func(o *Options) { o.Files = FilesShell })
	t.Run("alone", func(t *testing.T) { confinement.Racer(t, n, folders(g)).NoEscape(t) })
}

// SFTP has no descriptors of folders: what is looked at and what is used can differ.
// How often, docs/safety.md says; most of the time it is noticed.
func TestCONF04RacerOfSFTP(t *testing.T) {
	report := confinement.Racer(t, confinement.Lengths{Short: 200, Long: 2000}, folders(openTarget(t, fileServer(t), nil)))
	if report.Rate() > 50 {
		t.Errorf("%.1f %% of the operations went outside", report.Rate())
	}
}

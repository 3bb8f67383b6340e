package ssh

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/backendtest"
	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/tools/ops"
)

func TestExtraRoots(t *testing.T) {
	shell, files := servers.StartSSHD(t, servers.SSHDOptions{}), fileServer(t)
	for name, c := range map[string]struct {
		server *servers.SSHD
		by     FilesBy
	}{
		"scripts and SFTP": {shell, FilesBoth}, "scripts": {shell, FilesShell}, "SFTP": {files, FilesBoth},
	} {
		t.Run(name, func(t *testing.T) {
			var f backendtest.Fixture
			g := openTarget(t, c.server, func(o *Options) {
				f = backendtest.HostDir(o.Dir, o.Dir)
				must(t, backendtest.PutRoots(f, o.Dir))
				o.Files, o.ExtraRoots = c.by, backendtest.ExtraRoots(o.Dir)
			})
			if err := backendtest.CheckRoots(t.Context(), &backendtest.Workspace{Set: g.Set(), Fixture: f}); err != nil {
				t.Error(err)
			}
		})
	}
	o, _ := optionsFor(t, shell)
	o.Dir = t.TempDir()
	for path, words := range map[string]string{"relative": "absolute", o.Dir + "/none": "none"} {
		o.ExtraRoots = []ops.Root{{Path: path}}
		_, err := Open(t.Context(), o)
		wantKind(t, path, err, ops.KindUnavailable, words)
	}
}

func TestStrictRefusesChangesBySFTPAlone(t *testing.T) {
	strict := func(o *Options) { o.Strict = true }
	g := openTarget(t, fileServer(t), strict)
	p := g.put(t, "f", "text", 0o644)
	if got := g.Set().Target.Confinement; got != ops.ByChecking {
		t.Errorf("confinement %q", got)
	}
	_, werr := g.Set().Write.WriteFile(t.Context(), p, []byte("changed"))
	merr := g.Set().Write.MkdirAll(t.Context(), filepath.Join(g.dir, "made"))
	files := fileOps{g.main}
	_, version, err := files.ReadVersion(t.Context(), p, 0)
	must(t, err)
	_, verr := files.WriteVersion(t.Context(), p, version, []byte("changed"))
	for _, err := range []error{werr, merr, verr} {
		if err == nil || !strings.Contains(err.Error(), "confine: strict") {
			t.Errorf("strict: %v", err)
		}
	}
	if got, err := g.Set().Read.ReadFile(t.Context(), p, 0); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	g = openTarget(t, servers.StartSSHD(t, servers.SSHDOptions{}), strict)
	if _, err := g.Set().Write.WriteFile(t.Context(), filepath.Join(g.dir, "f"), []byte("text")); err != nil || g.Set().Target.Confinement != ops.ByEntering {
		t.Errorf("with a shell: %v, %q", err, g.Set().Target.Confinement)
	}
}

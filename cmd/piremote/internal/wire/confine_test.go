package wire

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/piremote/piremote/config"
	"github.com/piremote/piremote/tools/ops"
)

func TestConfineReachesTheBackends(t *testing.T) {
	extra := []ops.Root{{Path: "/data"}, {Path: "/ref", ReadOnly: true}}
	for _, c := range []struct {
		whole, own string
		root       string
		strict     bool
		roots      []ops.Root
	}{
		{"on", "", "/ws", false, extra},
		{"strict", "", "/ws", true, extra},
		{"on", "strict", "/ws", true, extra},
		{"strict", "on", "/ws", false, extra},
		{"off", "", "/", false, nil},
		{"on", "off", "/", false, nil},
	} {
		o := Options{
			Workspace: config.Workspace{Backend: "ssh", Host: "h", Root: "/ws", Container: "c", Confine: c.own, ExtraRoots: []string{"/ref:ro"}},
			Config:    &config.Config{Confine: c.whole, ExtraRoots: []string{"/data"}},
		}
		so := sshOptions(o)
		do, done := dockerOptions(o)
		done()
		if so.Root != c.root || so.Strict != c.strict || !slices.Equal(so.ExtraRoots, c.roots) || do.Root != c.root || !slices.Equal(do.ExtraRoots, c.roots) {
			t.Errorf("%+v: ssh %q %v %v, docker %q %v", c, so.Root, so.Strict, so.ExtraRoots, do.Root, do.ExtraRoots)
		}
	}
}

func TestConfineOfALocalFolder(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	p := filepath.Join(other, "f")
	if err := os.WriteFile(p, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		confine     string
		extra       []string
		read, write bool
		ok          bool
		detail      string
	}{
		{"on", nil, false, false, true, "race-free"},
		{"on", []string{other + ":ro"}, true, false, true, "(read only)"},
		{"strict", []string{other}, true, true, true, "race-free"},
		{"off", nil, true, true, false, "off"},
	} {
		var notices []string
		ws, err := Open(t.Context(), Options{
			Workspace: config.Workspace{Backend: "local", Path: dir}, Config: &config.Config{Confine: c.confine, ExtraRoots: c.extra},
			Env: []string{"HOME=" + t.TempDir()}, Notice: func(s string) { notices = append(notices, s) },
		})
		if err != nil {
			t.Fatal(err)
		}
		_, rerr := ws.Set.Read.ReadFile(t.Context(), p, 0)
		_, werr := ws.Set.Write.WriteFile(t.Context(), p, []byte("text"))
		if (rerr == nil) != c.read || (werr == nil) != c.write {
			t.Errorf("%+v: read %v, write %v", c, rerr, werr)
		}
		if said := slices.ContainsFunc(notices, func(s string) bool { return strings.Contains(s, "Confinement is off") }); said != (c.confine == "off") {
			t.Errorf("%+v: %q", c, notices)
		}
		if f := confinementFindings(ws.Set, c.confine)[0]; f.OK != c.ok || !strings.Contains(f.Detail, c.detail) {
			t.Errorf("%+v: %+v", c, f)
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestConfinementThatIsCheckedOnly(t *testing.T) {
	set := ops.Set{Target: ops.Target{Root: "/ws", Confinement: ops.ByChecking}}
	if f := confinementFindings(set, "on")[0]; f.OK || !strings.Contains(f.Detail, "one operation of eight") || f.Mend == "" {
		t.Errorf("%+v", f)
	}
	if f := confinementFindings(set, confineStrict)[0]; !f.OK || !strings.Contains(f.Detail, "changes are refused") {
		t.Errorf("%+v", f)
	}
}

func TestDoctorTellsHowChangesAreMadeSafe(t *testing.T) {
	for want, edit := range map[string]ops.EditOperations{
		"one step at the target": struct {
			ops.EditOperations
			ops.Editor
		}{},
		"size, time or identity": struct {
			ops.EditOperations
			ops.VersionWriter
		}{},
		"between reading and replacing a file is lost": struct{ ops.EditOperations }{},
	} {
		list := confinementFindings(ops.Set{Edit: edit}, "on")
		if f := list[len(list)-1]; f.Name != "changes" || !strings.Contains(f.Detail, want) {
			t.Errorf("%+v, want %q", f, want)
		}
	}
}

package ssh

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/backendtest/servers"
	"github.com/piremote/piremote/backends/helper"
	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/tools/ops"
)

// onDisk opens a real folder behind a server that knows nothing but plain SFTP.
func onDisk(t *testing.T, d *disk) (*Workspace, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	f := startFake(t, func(f *fakeServer) { f.subsystem = d.serve })
	return fileTools(t, f, dir), dir
}

func wantMode(t *testing.T, file string, mode fs.FileMode) {
	t.Helper()
	info, err := os.Stat(file)
	must(t, err)
	if info.Mode().Perm() != mode {
		t.Errorf("%s has the mode %v, want %v", filepath.Base(file), info.Mode().Perm(), mode)
	}
}

// A replaced file keeps its mode, and its new content is never in a file that others
// may read; where the server changes no modes, the file is written in place.
func TestSFTP09ModesAreKeptAndNothingIsOpenMeanwhile(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		t.Run(fmt.Sprintf("fixed %v", fixed), func(t *testing.T) {
			d := &disk{fixed: fixed}
			w, dir := onDisk(t, d)
			for name, mode := range map[string]fs.FileMode{"secret": 0o600, "script": 0o755} {
				p := filepath.Join(dir, name)
				must(t, os.WriteFile(p, []byte("old"), 0o600))
				must(t, os.Chmod(p, mode))
				report, err := w.Set().Write.WriteFile(t.Context(), p, []byte("new "+name))
				if err != nil || (report.InPlace != "") != fixed {
					t.Errorf("%s: %+v, %v", name, report, err)
				}
				if got := string(must2(t, p)); got != "new "+name {
					t.Errorf("%s holds %q", name, got)
				}
				wantMode(t, p, mode)
			}
			if want := map[bool]int{false: 0, true: 1}[fixed]; d.open != want { // the script, in place, is open to others as it was
				t.Errorf("%d writes to a file that others may read, want %d", d.open, want)
			}
			left, err := filepath.Glob(filepath.Join(dir, ".piremote*"))
			if must(t, err); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// What cleans up removes the names that it made. A link that somebody put there
// leads it nowhere.
func TestSFTP11CleaningUpFollowsNoLink(t *testing.T) {
	for name, policy := range map[string]helper.Policy{"agentless": helper.Never, "helper": helper.Require} {
		t.Run(name, func(t *testing.T) {
			g := openTarget(t, servers.StartSSHD(t, servers.SSHDOptions{}), func(o *Options) { o.Helper, o.Helpers = policy, helpertest.Bundle(t) })
			precious := filepath.Join(g.outside, "deep", "precious")
			must(t, os.MkdirAll(filepath.Dir(precious), 0o755))
			must(t, os.WriteFile(precious, []byte("kept"), 0o600))
			exit, err := g.Set().Bash.Exec(t.Context(), ops.Command{Script: "seq 100000", Dir: g.dir, Spill: true}, func(ops.Chunk) {})
			if err != nil || exit.SpillPath == "" {
				t.Fatalf("%+v, %v", exit, err)
			}
			spills := filepath.Dir(exit.SpillPath)
			must(t, os.Symlink(g.outside, filepath.Join(spills, "x")))
			must(t, os.Mkdir(filepath.Join(spills, "nested"), 0o700))
			must(t, os.Symlink(filepath.Dir(precious), filepath.Join(spills, "nested", "y")))
			// The file itself is swapped for a link.
			must(t, os.Remove(exit.SpillPath))
			must(t, os.Symlink(precious, exit.SpillPath))
			must(t, g.Close())
			if got := string(must2(t, precious)); got != "kept" {
				t.Errorf("it holds %q", got)
			}
			if _, err := os.Lstat(exit.SpillPath); err == nil {
				t.Errorf("%s is left", exit.SpillPath)
			}
		})
	}
	t.Run("temporary file", func(t *testing.T) {
		d := &disk{}
		w, dir := onDisk(t, d)
		p := filepath.Join(dir, "f")
		for _, text := range []string{"one", "two"} {
			_, err := w.Set().Write.WriteFile(t.Context(), p, []byte(text))
			must(t, err)
		}
		if slices.ContainsFunc(d.removed, func(name string) bool { return !strings.HasPrefix(filepath.Base(name), ".piremote-") }) {
			t.Errorf("removed %q", d.removed)
		}
	})
}

// Files are opened for writing alone, and a server without extensions will do.
func TestSFTP12MinimalFlagsAndNoExtensions(t *testing.T) {
	d := &disk{}
	w, dir := onDisk(t, d)
	p := filepath.Join(dir, "f")
	for _, text := range []string{"one", "two"} {
		if _, err := w.Set().Write.WriteFile(t.Context(), p, []byte(text)); err != nil || string(must2(t, p)) != text {
			t.Errorf("%q: %v", text, err)
		}
	}
	if d.reading != 0 {
		t.Errorf("%d files were opened for reading as well", d.reading)
	}
}

// A folder that is another one for the SFTP server is found when the workspace is
// opened: files go where commands see them.
func TestSFTP12ShellAndSFTPSeeOtherTrees(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	other := filepath.Join(base, "other")
	must(t, os.Mkdir(other, 0o700))
	server := filepath.Join(base, "sftp")
	place := filepath.Join(base, "place")
	must(t, os.Mkdir(place, 0o755))
	for what, script := range map[string]string{
		"another folder": "exec unshare --mount sh -c 'mount --bind " + other + " " + place + " && exec /usr/lib/openssh/sftp-server'",
		"no folder":      "exec unshare --mount sh -c 'mount -t tmpfs none " + base + " && exec /usr/lib/openssh/sftp-server'",
		"the same":       "exec /usr/lib/openssh/sftp-server",
	} {
		t.Run(what, func(t *testing.T) {
			must(t, os.WriteFile(server, []byte("#!/bin/sh\n"+script+"\n"), 0o600))
			s := servers.StartSSHD(t, servers.SSHDOptions{
				NoSFTP: true, Login: &servers.Login{}, Config: []string{"Subsystem sftp /bin/sh " + server},
			})
			o, n := optionsFor(t, s)
			o.Dir, o.Helper = place, helper.Never
			w, err := Open(t.Context(), o)
			must(t, err)
			defer func() { must(t, w.Close()) }()
			p := filepath.Join(place, "f")
			if _, err := w.Set().Write.WriteFile(t.Context(), p, []byte(what)); err != nil {
				t.Fatal(err)
			}
			if got := string(must2(t, p)); got != what {
				t.Errorf("the shell's file holds %q", got)
			}
			if strayed, _ := os.ReadDir(other); len(strayed) > 0 {
				t.Errorf("the other folder holds %v", strayed)
			}
			if told := strings.Contains(n.String(), "not the same folder"); told == (what == "the same") {
				t.Errorf("notices: %s", n)
			}
		})
	}
}

// A new file has the mode that the account's umask gives, and nothing of ours needs
// one: the helper starts under any.
func TestSFTP13UmaskOfTheAccount(t *testing.T) {
	bundle := helpertest.Bundle(t)
	for umask, mode := range map[string]fs.FileMode{"077": 0o600, "022": 0o644} {
		s := servers.StartSSHD(t, servers.SSHDOptions{Login: &servers.Login{
			UID: 1001, Shell: "tcsh", Files: map[string]string{".tcshrc": "umask " + umask + "\n"},
		}})
		for name, policy := range map[string]helper.Policy{"agentless": helper.Never, "helper": helper.Require} {
			t.Run(umask+" "+name, func(t *testing.T) {
				host, dir := s.Folder(t)
				o, _ := optionsFor(t, s)
				o.Dir, o.Helper, o.Helpers = dir, policy, bundle
				w, err := Open(t.Context(), o)
				must(t, err)
				defer func() { must(t, w.Close()) }()
				_, err = w.Set().Write.WriteFile(t.Context(), dir+"/s.sh", []byte("#!/bin/sh\nexit 7\n"))
				must(t, err)
				wantMode(t, filepath.Join(host, "s.sh"), mode)
				for script, code := range map[string]int{"sh ./s.sh": 7, "./s.sh": 126, "no-such-program": 127} {
					exit, err := w.Set().Bash.Exec(t.Context(), ops.Command{Script: script, Dir: dir}, func(ops.Chunk) {})
					if err != nil || exit.Code != code {
						t.Errorf("%s: %+v, %v", script, exit, err)
					}
				}
			})
		}
	}
}

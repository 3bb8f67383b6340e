//go:build linux

package install_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/piremote/piremote/backends/helper/helpertest"
	"github.com/piremote/piremote/backends/helper/install"
	"github.com/piremote/piremote/internal/require"
)

// plainTools is what the start needs in any case.
const plainTools = "uname id ls mkdir chmod mv rm cat find"

// withTools makes a folder of programs, the only one in PATH. A name after "=" is
// the program that gets the name before it.
func withTools(t *testing.T, names string) []string {
	t.Helper()
	dir, env := home(t)
	bin := filepath.Join(dir, "bin")
	must(t, os.Mkdir(bin, 0o755))
	for _, name := range strings.Fields(names + " " + plainTools) {
		name, program, _ := strings.Cut(name, "=")
		if _, err := os.Lstat(filepath.Join(bin, name)); err == nil {
			continue // it was named before
		}
		if program == "" {
			program = name
		}
		file, err := exec.LookPath(program)
		if err != nil {
			require.Missing(t, program, err.Error())
		}
		must(t, os.Symlink(file, filepath.Join(bin, name)))
	}
	return []string{env[0], "PATH=" + bin}
}

// Each program that hashes serves, with and without what makes it faster.
func TestToolsOfTheTarget(t *testing.T) {
	b := helpertest.Echo(t)
	packed, size := int64(len(b.Programs()[0].Packed())), b.Programs()[0].Size
	for name, c := range map[string]struct {
		tools string
		sent  int64
	}{
		"all":            {"sha256sum head gzip", packed},
		"busybox alone":  {"busybox head gzip", packed},
		"openssl":        {"openssl head gzip", packed},
		"shasum":         {"shasum perl head gzip", packed},
		"no gzip":        {"sha256sum head", size},
		"a broken gzip":  {"sha256sum head gzip=false", size},
		"no head":        {"sha256sum gzip dd", packed},
		"a broken sum":   {"sha256sum=true busybox head gzip", packed},
		"nothing of GNU": {"busybox uname=busybox id=busybox ls=busybox mkdir=busybox chmod=busybox mv=busybox rm=busybox cat=busybox find=busybox head=busybox sha256sum=busybox gzip=busybox", packed},
	} {
		t.Run(name, func(t *testing.T) {
			env := withTools(t, c.tools)
			e := &machineExec{argv: []string{"/bin/dash"}, env: env}
			if r := start(t, e, b); r.Sent != c.sent || !r.Uploaded || len(r.Passed) > 0 {
				t.Errorf("%+v, want %d bytes sent", r, c.sent)
			}
			if r := start(t, e, b); r.Uploaded {
				t.Errorf("the second start: %+v", r)
			}
		})
	}
}

func TestWithoutAToolThatHashesNothingIsRun(t *testing.T) {
	b := helpertest.Echo(t)
	for name, tools := range map[string]string{"none": "head gzip", "one that agrees to anything": "sha256sum=true head gzip"} {
		t.Run(name, func(t *testing.T) {
			_, r, err := install.Start(t.Context(), &machineExec{argv: []string{"/bin/dash"}, env: withTools(t, tools)}, b, install.Options{})
			cannot(t, err, "sha256sum", "openssl")
			if r.Sent != 0 || r.Uploaded {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestArchitectures(t *testing.T) {
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	if other == "" {
		require.Missing(t, "amd64", "helpers are made for amd64 and arm64")
	}
	program, err := helpertest.EchoProgram(t.Context(), other, runtime.GOARCH)
	must(t, err)
	t.Run("a machine without a helper", func(t *testing.T) {
		_, env := home(t)
		_, _, err := install.Start(t.Context(), &machineExec{env: env}, bundleOf(t, program, other), install.Options{})
		cannot(t, err, "there is no helper for Linux ")
	})
	t.Run("another system", func(t *testing.T) {
		env := withTools(t, "sha256sum head gzip")
		fake(t, env, "uname", `echo SunOS sparc`)
		_, _, err := install.Start(t.Context(), &machineExec{env: env}, helpertest.Echo(t), install.Options{})
		cannot(t, err, "there is no helper for SunOS sparc")
	})
	// The machine says that it is what it is not: the loader's words are told, and
	// no second folder is filled with what does not run.
	for name, argv := range shells() {
		t.Run("a program for another machine under "+name, func(t *testing.T) {
			a := newAccount(t)
			e := a.exec()
			e.argv = argv
			_, r, err := install.Start(t.Context(), e, bundleOf(t, program, runtime.GOARCH), install.Options{})
			cannot(t, err, "the helper does not run there")
			if r.Sent == 0 || r.Sent != int64(len(mustPack(t, program))) {
				t.Errorf("%+v", r)
			}
			if left, _ := filepath.Glob(a.cache + "/*"); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			t.Log(err)
		})
	}
}

func mustPack(t *testing.T, program []byte) []byte {
	t.Helper()
	packed, err := install.Pack(program)
	must(t, err)
	return packed
}

// fake puts a script in the place of a tool.
func fake(t *testing.T, env []string, name, text string) {
	t.Helper()
	file := filepath.Join(strings.TrimPrefix(env[1], "PATH="), name)
	must(t, os.Remove(file))
	must(t, os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

// A program that was built for the right machine and says something else is not
// what it should be.
func TestAProgramMustSayWhatItIs(t *testing.T) {
	program, err := helpertest.EchoProgram(t.Context(), runtime.GOARCH, "other")
	must(t, err)
	a := newAccount(t)
	_, _, err = install.Start(t.Context(), a.exec(), bundleOf(t, program, runtime.GOARCH), install.Options{})
	cannot(t, err, "the helper does not run there: piremote-helper linux/other")
}

// Any login shell passes the words on (hazards SSHX-06, SSHC-06).
func TestSSHX06LoginShells(t *testing.T) {
	b := helpertest.Echo(t)
	for _, shell := range []string{"fish", "tcsh", "bash", "dash"} {
		t.Run(shell, func(t *testing.T) {
			file, err := exec.LookPath(shell)
			if err != nil {
				require.Missing(t, shell, err.Error())
			}
			dir, env := home(t)
			for range 2 {
				if r := start(t, &machineExec{login: file, env: env}, b); !strings.HasPrefix(r.Path, dir) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

func TestDamagedBundles(t *testing.T) {
	packed := mustPack(t, []byte("program"))
	if _, err := install.NewProgram("linux", "amd64", packed[:5]); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("cut in the header: %v", err)
	}
	p, err := install.NewProgram("linux", "amd64", packed)
	must(t, err)
	if data, err := p.Bytes(); err != nil || string(data) != "program" || p.Size != 7 {
		t.Errorf("%q, %v, %d", data, err, p.Size)
	}
	b := install.NewBundle(p)
	if _, err := b.Find("linux", "riscv64"); !errors.As(err, new(*install.AbsentError)) || err.Error() != "there is no helper for linux/riscv64" {
		t.Errorf("%v", err)
	}
	for i := range packed {
		bad := append([]byte{}, packed...)
		bad[i] ^= 0x20
		p, err := install.NewProgram("linux", "amd64", bad)
		if err != nil {
			continue
		}
		if data, err := p.Bytes(); err == nil && string(data) != "program" {
			t.Errorf("byte %d changed: %q", i, data)
		}
	}
}

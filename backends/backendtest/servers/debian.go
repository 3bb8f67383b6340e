//go:build unix

package servers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	debianRelease = "bookworm"
	debianImage   = "piremote-test/debian:" + debianRelease
)

// Debian returns an image of a minimal Debian with bash and GNU tools. The
// first time debootstrap fetches it, which takes minutes and a package mirror;
// its tar is kept in the folder for temporary files.
func (d *Dockerd) Debian(tb testing.TB) string {
	tb.Helper()
	if d.has(tb, debianImage) {
		return debianImage
	}
	dir, err := privateDir()
	if err != nil {
		Missing(tb, "debootstrap", err.Error())
	}
	l, err := lock(dir, "debian", syscall.LOCK_EX)
	check(tb, err)
	defer unlock(l)
	file := filepath.Join(dir, "debian-"+debianRelease+".tar")
	if !isFile(file) {
		bootstrap(tb, file)
	}
	f, err := os.Open(file)
	check(tb, err)
	defer func() { _ = f.Close() }() // it was only read
	d.load(tb, f, debianImage, "WORKDIR /ws")
	return debianImage
}

func bootstrap(tb testing.TB, file string) {
	tb.Helper()
	program, err := exec.LookPath("debootstrap")
	if err != nil {
		Missing(tb, "debootstrap", "package debootstrap")
	}
	if os.Getuid() != 0 {
		Missing(tb, "debootstrap", "it needs root")
	}
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Minute)
	defer cancel()
	root := filepath.Join(tb.TempDir(), "root")
	run := func(name string, args ...string) {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			Missing(tb, "debootstrap", name+": "+err.Error()+"\n"+string(out[max(0, len(out)-2000):]))
		}
	}
	run(program, "--variant=minbase", debianRelease, root)
	check(tb, os.MkdirAll(filepath.Join(root, "ws"), 0o755))
	run("tar", "-C", root, "--one-file-system", "-cf", file+".part", "--", ".") // the archive appears whole
	check(tb, os.Rename(file+".part", file))
}

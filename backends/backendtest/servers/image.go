//go:build unix

package servers

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
)

// Names of the images that are made here.
const (
	busyBoxImage  = "piremote-test/busybox:1"
	noShellImage  = "piremote-test/no-shell:1"
	importTimeout = 2 * time.Minute
)

// busyBoxProgram is a static BusyBox.
const busyBoxProgram = "/bin/busybox"

// BusyBox returns an image made of the machine's static BusyBox with its
// applets, root and an account "user" with uid 1001. It is imported once for
// each daemon.
func (d *Dockerd) BusyBox(tb testing.TB) string {
	tb.Helper()
	if d.has(tb, busyBoxImage) {
		return busyBoxImage
	}
	data := busyBox(tb)
	applets, err := exec.CommandContext(tb.Context(), busyBoxProgram, "--list").Output()
	check(tb, err)
	a := newArchive(tb)
	for _, dir := range []string{"bin/", "etc/", "root/", "home/", "ws/", "var/"} {
		a.add(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}, nil)
	}
	a.add(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}, nil)
	a.add(&tar.Header{Typeflag: tar.TypeDir, Name: "home/user/", Mode: 0o755, Uid: 1001, Gid: 1001}, nil)
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, data)
	for _, name := range strings.Fields(string(applets)) {
		if name != "busybox" {
			a.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox", Mode: 0o777}, nil)
		}
	}
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644},
		[]byte("root:x:0:0:root:/root:/bin/sh\nuser:x:1001:1001:user:/home/user:/bin/sh\n"))
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: "etc/group", Mode: 0o644}, []byte("root:x:0:\nuser:x:1001:\n"))
	d.load(tb, a.end(), busyBoxImage, "ENV PATH=/bin", "WORKDIR /ws")
	return busyBoxImage
}

// NoShell returns an image without a shell. Run needs NoShellCmd for it.
func (d *Dockerd) NoShell(tb testing.TB) string {
	tb.Helper()
	if d.has(tb, noShellImage) {
		return noShellImage
	}
	a := newArchive(tb)
	a.add(&tar.Header{Typeflag: tar.TypeDir, Name: "ws/", Mode: 0o755}, nil)
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: "busybox", Mode: 0o755}, busyBox(tb))
	d.load(tb, a.end(), noShellImage, "WORKDIR /ws")
	return noShellImage
}

// NoShellCmd is a main process for NoShell that sleeps.
func NoShellCmd() []string { return []string{"/busybox", "sleep", "3600"} }

func busyBox(tb testing.TB) []byte {
	tb.Helper()
	if !isFile(busyBoxProgram) {
		Missing(tb, "busybox", "package busybox-static")
	}
	data, err := os.ReadFile(busyBoxProgram)
	check(tb, err)
	return data
}

func (d *Dockerd) has(tb testing.TB, tag string) bool {
	tb.Helper()
	_, err := d.client.ImageInspect(tb.Context(), tag)
	return err == nil
}

// load imports a tar of a root file system.
func (d *Dockerd) load(tb testing.TB, root io.Reader, tag string, changes ...string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), importTimeout)
	defer cancel()
	r, err := d.client.ImageImport(ctx, image.ImportSource{Source: root, SourceName: "-"}, tag, image.ImportOptions{Changes: changes})
	check(tb, err)
	answer, err := io.ReadAll(r)
	check(tb, err)
	check(tb, r.Close())
	if !d.has(tb, tag) {
		tb.Fatalf("image %s is not there after its import: %s", tag, answer)
	}
}

// archive builds a tar in memory.
type archive struct {
	tb testing.TB
	b  bytes.Buffer
	w  *tar.Writer
}

func newArchive(tb testing.TB) *archive {
	a := &archive{tb: tb}
	a.w = tar.NewWriter(&a.b)
	return a
}

func (a *archive) add(h *tar.Header, content []byte) {
	a.tb.Helper()
	h.Size = int64(len(content))
	check(a.tb, a.w.WriteHeader(h))
	_, err := a.w.Write(content)
	check(a.tb, err)
}

func (a *archive) end() io.Reader {
	a.tb.Helper()
	check(a.tb, a.w.Close())
	return &a.b
}

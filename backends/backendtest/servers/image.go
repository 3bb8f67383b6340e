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

// busyBoxImage is the name of the image that BusyBox makes.
const busyBoxImage = "piremote-test/busybox:1"

// BusyBox returns an image made of the machine's static BusyBox with its
// applets, root and an account 1001. It is imported once for each daemon.
func (d *Dockerd) BusyBox(tb testing.TB) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := d.client.ImageInspect(ctx, busyBoxImage); err == nil {
		return busyBoxImage
	}
	program := "/bin/busybox"
	if !isFile(program) {
		Missing(tb, "busybox", "package busybox-static")
	}
	data, err := os.ReadFile(program)
	check(tb, err)
	applets, err := exec.CommandContext(ctx, program, "--list").Output()
	check(tb, err)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h *tar.Header, content []byte) {
		h.Size = int64(len(content))
		check(tb, w.WriteHeader(h))
		_, err := w.Write(content)
		check(tb, err)
	}
	for _, dir := range []string{"bin/", "etc/", "root/", "home/", "ws/", "var/"} {
		add(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}, nil)
	}
	add(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}, nil)
	add(&tar.Header{Typeflag: tar.TypeDir, Name: "home/user/", Mode: 0o755, Uid: 1001, Gid: 1001}, nil)
	add(&tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, data)
	for _, name := range strings.Fields(string(applets)) {
		if name != "busybox" {
			add(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox", Mode: 0o777}, nil)
		}
	}
	add(&tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644},
		[]byte("root:x:0:0:root:/root:/bin/sh\nuser:x:1001:1001:user:/home/user:/bin/sh\n"))
	add(&tar.Header{Typeflag: tar.TypeReg, Name: "etc/group", Mode: 0o644}, []byte("root:x:0:\nuser:x:1001:\n"))
	check(tb, w.Close())
	r, err := d.client.ImageImport(ctx, image.ImportSource{Source: &b, SourceName: "-"}, busyBoxImage,
		image.ImportOptions{Changes: []string{"ENV PATH=/bin", "WORKDIR /ws"}})
	check(tb, err)
	_, err = io.Copy(io.Discard, r)
	check(tb, err)
	check(tb, r.Close())
	return busyBoxImage
}

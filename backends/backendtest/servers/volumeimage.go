//go:build unix

package servers

import (
	"archive/tar"
	"testing"
)

const volumeImage = "piremote-test/volume:1"

// Volume returns an image with BusyBox as /bin/sh, in which everyone may write to
// /data and /spool, and of which /data is a volume.
func (d *Dockerd) Volume(tb testing.TB) string {
	tb.Helper()
	if d.has(tb, volumeImage) {
		return volumeImage
	}
	a := newArchive(tb)
	a.add(&tar.Header{Typeflag: tar.TypeDir, Name: "bin/", Mode: 0o755}, nil)
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, busyBox(tb))
	for _, name := range []string{"sh", "cat", "find", "touch", "rm", "id"} {
		a.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox", Mode: 0o777}, nil)
	}
	for _, dir := range []string{"data/", "spool/"} {
		a.add(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o777}, nil)
	}
	d.load(tb, a.end(), volumeImage, "ENV PATH=/bin", "VOLUME /data", "HEALTHCHECK --interval=1s CMD /bin/touch /data/health")
	return volumeImage
}

package local

import (
	"context"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// beneath opens a path in one system call, in which the kernel itself follows no
// link out of the root (openat2, Linux 5.6). It reports false where that can't be
// done, for whatever reason: os.Root, which needs a call for each component, then
// does it and says what is wrong.
func (v *view) beneath(ctx context.Context, path string, flag int) (fd int, ok bool) {
	if ctx.Err() != nil {
		return -1, false
	}
	cleaned, err := clean(path)
	if err != nil {
		return -1, false
	}
	at, err := v.locate(cleaned)
	if err != nil || at.root.folder == nil {
		return -1, false
	}
	how := unix.OpenHow{Flags: uint64(flag | unix.O_CLOEXEC), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS} //nolint:gosec // flags are not negative
	fd, err = unix.Openat2(int(at.root.folder.Fd()), at.name, &how)
	return fd, err == nil
}

// fileBeneath opens a regular file; it returns nil where os.Root has to.
func (v *view) fileBeneath(ctx context.Context, path string) io.ReadCloser {
	fd, ok := v.beneath(ctx, path, readFlags)
	if !ok {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return nil
	}
	d := &descriptor{fd: fd, view: v, path: path}
	d.users.Store(1)
	return d
}

// folderBeneath opens a folder; it returns nil where os.Root has to, whose folders
// look at each entry once more.
func (v *view) folderBeneath(ctx context.Context, path string) *os.File {
	fd, ok := v.beneath(ctx, path, os.O_RDONLY|unix.O_DIRECTORY)
	if !ok {
		return nil
	}
	return os.NewFile(uintptr(fd), path)
}

// descriptor reads a regular file without the poller, in which such a file can't be
// anyway: for a search, registering costs as much as reading. It may be closed
// during a Read, which then ends by itself.
type descriptor struct {
	fd    int
	view  *view
	path  string
	users atomic.Int32 // its owner and the reads under way; the last one closes fd
	over  atomic.Bool  // closed by its owner
}

// Read implements io.Reader.
func (d *descriptor) Read(p []byte) (int, error) {
	if !d.enter() {
		return 0, d.view.fail("read", d.path, os.ErrClosed)
	}
	defer d.leave()
	n := 0
	err := retry(func() (err error) { n, err = unix.Read(d.fd, p); return err })
	switch {
	case err != nil:
		return 0, d.view.fail("read", d.path, err)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (d *descriptor) Close() error {
	if d.over.Swap(true) {
		return d.view.fail("close", d.path, os.ErrClosed)
	}
	d.leave()
	return nil
}

// enter reports whether the descriptor is still open, and keeps it so until leave.
func (d *descriptor) enter() bool {
	for {
		n := d.users.Load()
		if n == 0 || d.over.Load() {
			return false
		}
		if d.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (d *descriptor) leave() {
	if d.users.Add(-1) == 0 {
		_ = unix.Close(d.fd) // nothing was written
	}
}

//go:build unix

package local

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// folder is an opened folder; names in it are single components, and links are
// never followed.
type folder struct {
	file  *os.File
	names *tempNames // set before something is written
}

// entry is what is known of a name in a folder.
type entry struct {
	mode            fs.FileMode
	dev, ino        uint64
	links           uint64
	uid, gid        int
	size            int64
	modified, moved unix.Timespec // of the content, and of that or anything else
}

func openFolder(r *root, name string) (*folder, error) {
	f, err := r.openFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &folder{file: f}, nil
}

func (d *folder) close() { _ = d.file.Close() }

func (d *folder) fd() int { return int(d.file.Fd()) }

func (d *folder) lstat(base string) (entry, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstatat(d.fd(), base, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return entry{}, err
	}
	return newEntry(&st), nil
}

// stat describes an opened file.
func (d *folder) stat(f *os.File) (entry, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(int(f.Fd()), &st) }); err != nil {
		return entry{}, err
	}
	return newEntry(&st), nil
}

func newEntry(st *unix.Stat_t) entry {
	return entry{
		mode: fileMode(uint32(st.Mode)), dev: uint64(st.Dev), ino: st.Ino, links: uint64(st.Nlink), //nolint:unconvert // types differ between systems
		uid: int(st.Uid), gid: int(st.Gid), size: st.Size, modified: st.Mtim, moved: st.Ctim,
	}
}

// same reports whether nothing was done to a file between two looks at it, as
// far as the clock of its file system can tell.
func (old entry) same(now entry) bool { return old == now }

// changed is when anything was done to the file.
func (old entry) changed() time.Time { return time.Unix(old.moved.Unix()) }

// is reports whether info is of the same file.
func (old entry) is(info fs.FileInfo) bool {
	id := fileID(info)
	return id.Device == old.dev && id.Inode == old.ino
}

func (d *folder) open(base string, flag int) (*os.File, error) {
	return d.openAt(base, flag|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

func (d *folder) openAt(base string, flag int, perm uint32) (*os.File, error) {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Openat(d.fd(), base, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), base), nil
}

func (d *folder) mayWrite(base string) error {
	return retry(func() error { return unix.Faccessat(d.fd(), base, unix.W_OK, unix.AT_EACCESS) })
}

func (d *folder) remove(base string) error {
	return retry(func() error { return unix.Unlinkat(d.fd(), base, 0) })
}

// sync makes a rename durable. File systems that can't are taken as they are.
func (d *folder) sync() error {
	err := d.file.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return err
}

// namedTemp makes a new private file with a name of our pattern.
func (d *folder) namedTemp() (*tempFile, error) {
	var err error
	for range tempTries {
		name := d.names.next()
		var f *os.File
		if f, err = d.openAt(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			t := &tempFile{file: f, dir: d, name: name}
			t.hold()
			return t, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return nil, err
}

// tempFile is a new file that will take the place of another.
type tempFile struct {
	file *os.File
	dir  *folder
	name string // empty: it has none yet
}

// discard removes the file unless it was published. It may be called twice.
func (t *tempFile) discard() {
	_ = t.file.Close()
	if t.name != "" {
		_ = t.dir.remove(t.name)
		t.name = ""
	}
}

// publish gives the file its final name.
func (t *tempFile) publish(base string, created bool) error {
	if t.name == "" && created {
		return t.linkAs(base)
	}
	if err := t.complete(); err != nil {
		return err
	}
	if !created {
		return t.take(base)
	}
	err := t.renameNew(base)
	if err == nil {
		t.name = ""
	}
	return err
}

// complete closes the file, which has a temporary name from then on. An error of
// closing it is an error: some file systems report a full disk only then.
func (t *tempFile) complete() error {
	if t.name == "" {
		t.hold()
		if err := t.linkTemp(); err != nil {
			return err
		}
	}
	return t.file.Close()
}

// take gives the file the name of another one, which is gone then.
func (t *tempFile) take(base string) error {
	err := t.rename(base)
	if err == nil {
		t.name = ""
	}
	return err
}

// rename gives the file the name of another one.
func (t *tempFile) rename(base string) error {
	return retry(func() error { return unix.Renameat(t.dir.fd(), t.name, t.dir.fd(), base) })
}

// linkTemp gives the file a temporary name.
func (t *tempFile) linkTemp() error {
	var err error
	for range tempTries {
		name := t.dir.names.next()
		if err = t.linkAs(name); err == nil {
			t.name = name
			return nil
		}
		if !errors.Is(err, errMoved) {
			break
		}
	}
	return err
}

// keepAttributes gives the new file owner, group, access rules and mode of the
// old one. A reason says why it can't. Privilege bits survive only where writing
// in place would keep them.
func keepAttributes(f *os.File, dir *folder, base string, old entry) (reason string, err error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != old.uid || int(st.Gid) != old.gid {
		if err := f.Chown(old.uid, old.gid); err != nil {
			return "its owner can't be kept", nil //nolint:nilerr // the reason says it
		}
	}
	if reason, err = copyAttributes(f, dir, base, old); reason != "" || err != nil {
		return reason, err
	}
	mode := old.mode
	if os.Geteuid() != 0 {
		mode &^= fs.ModeSetuid | fs.ModeSetgid
	}
	return "", f.Chmod(mode)
}

func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	}
	for bit, flag := range map[uint32]fs.FileMode{
		unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky,
	} {
		if m&bit != 0 {
			mode |= flag
		}
	}
	return mode
}

// retry repeats a call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func freeBytes(f *os.File) (uint64, bool) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return 0, false
	}
	return uint64(max(st.Bavail, 0)) * uint64(st.Bsize), true //nolint:gosec,unconvert // types differ between systems
}

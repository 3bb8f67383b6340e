package local

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// temp makes a private file in the folder. It has no name until it is complete,
// so that being killed leaves nothing behind (hazard WRIT-06), unless the file
// system can't do that.
func (d *folder) temp(named bool) (*tempFile, error) {
	if named {
		return d.namedTemp()
	}
	f, err := d.openAt(".", unix.O_TMPFILE|os.O_RDWR, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) || errors.Is(err, fs.ErrNotExist) {
		return d.namedTemp()
	}
	if err != nil {
		return nil, err
	}
	return &tempFile{file: f, dir: d}, nil
}

// linkAs names an unnamed file.
func (t *tempFile) linkAs(name string) error {
	fd := int(t.file.Fd())
	err := retry(func() error {
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), t.dir.fd(), name, unix.AT_SYMLINK_FOLLOW)
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return errMoved
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT), errors.Is(err, unix.EROFS):
		return err
	}
	return errNoLink
}

// renameNew gives the file a name that no other has, where the file system can
// tell.
func (t *tempFile) renameNew(base string) error {
	err := retry(func() error {
		return unix.Renameat2(t.dir.fd(), t.name, t.dir.fd(), base, unix.RENAME_NOREPLACE)
	})
	switch {
	case errors.Is(err, fs.ErrExist):
		return errMoved
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return t.rename(base)
	}
	return err
}

// copyAttributes copies the extended attributes, access control lists among
// them, best effort but for the lists. What the kernel drops when a file is
// written is dropped here too.
func copyAttributes(f *os.File, dir *folder, base string, old entry) (reason string, err error) {
	src, err := dir.open(base, os.O_RDONLY)
	if errors.Is(err, fs.ErrPermission) {
		return "its attributes can't be read", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = src.Close() }()
	if info, err := src.Stat(); err != nil || !old.is(info) {
		return "", errMoved
	}
	const acl = "system.posix_acl_access"
	from, to := int(src.Fd()), int(f.Fd())
	names := attributes(from)
	hasACL := false
	for _, name := range names {
		if name == "security.capability" || name == "security.ima" || name == "security.evm" {
			continue
		}
		hasACL = hasACL || name == acl
		value, err := attribute(from, name)
		if err == nil {
			err = unix.Fsetxattr(to, name, value, 0)
		}
		if err != nil && name == acl {
			return "its access control list can't be kept", nil
		}
	}
	if !hasACL {
		// A default list of the folder may have given the new file one.
		_ = unix.Fremovexattr(to, acl)
	}
	return "", nil
}

func attributes(fd int) []string {
	size, err := unix.Flistxattr(fd, nil)
	if err != nil || size == 0 {
		return nil
	}
	buf := make([]byte, size)
	if size, err = unix.Flistxattr(fd, buf); err != nil {
		return nil
	}
	return strings.FieldsFunc(string(buf[:size]), func(r rune) bool { return r == 0 })
}

func attribute(fd int, name string) ([]byte, error) {
	size, err := unix.Fgetxattr(fd, name, nil)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, size)
	if size, err = unix.Fgetxattr(fd, name, buf); err != nil {
		return nil, err
	}
	return buf[:size], nil
}

// reserve makes sure that size bytes fit into a file of old bytes, before any of
// them changes. File systems that can't say are believed.
func reserve(f *os.File, size, old int64) error {
	if size == 0 {
		return nil
	}
	fd := int(f.Fd())
	err := retry(func() error { return unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, size) })
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		_ = f.Truncate(old) // gives back what was reserved
		return err
	}
	return nil
}

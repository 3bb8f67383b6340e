package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// folder is an opened folder; names in it are single components.
type folder struct {
	root  *os.Root
	names *tempNames // set before something is written
}

// entry is what is known of a name in a folder.
type entry struct {
	mode  fs.FileMode
	links uint64
	info  fs.FileInfo
}

func openFolder(r *root, name string) (*folder, error) {
	if r.handle == nil {
		opened, err := os.OpenRoot(filepath.Join(r.canonical, name))
		if err != nil {
			return nil, err
		}
		return &folder{root: opened}, nil
	}
	opened, err := r.handle.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &folder{root: opened}, nil
}

func (d *folder) close() { _ = d.root.Close() }

func (d *folder) lstat(base string) (entry, error) {
	info, err := d.root.Lstat(base)
	if err != nil {
		return entry{}, err
	}
	old := entry{mode: info.Mode(), links: 1, info: info}
	if !info.Mode().IsRegular() {
		return old, nil
	}
	f, err := d.root.Open(base)
	if err != nil {
		return old, nil //nolint:nilerr // it may be writable all the same; one name is assumed
	}
	defer func() { _ = f.Close() }()
	var by windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &by); err == nil {
		old.links = uint64(by.NumberOfLinks)
	}
	return old, nil
}

// stat describes an opened file.
func (d *folder) stat(f *os.File) (entry, error) {
	info, err := f.Stat()
	if err != nil {
		return entry{}, err
	}
	return entry{mode: info.Mode(), links: 1, info: info}, nil
}

// same reports whether a file was not written between two looks at it, as far as
// the clock of its file system can tell.
func (old entry) same(now entry) bool {
	return os.SameFile(old.info, now.info) && old.info.Size() == now.info.Size() && old.info.ModTime().Equal(now.info.ModTime())
}

// changed is when the file was written.
func (old entry) changed() time.Time { return old.info.ModTime() }

func (old entry) is(info fs.FileInfo) bool { return os.SameFile(old.info, info) }

func (d *folder) open(base string, flag int) (*os.File, error) { return d.root.OpenFile(base, flag, 0) }

func (d *folder) mayWrite(base string) error {
	f, err := d.root.OpenFile(base, os.O_WRONLY, 0)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// sync does nothing: Windows has no way to sync a folder.
func (d *folder) sync() error { return nil }

// tempFile is a new file that will take the place of another.
type tempFile struct {
	file *os.File
	dir  *folder
	name string
}

func (d *folder) temp(bool) (*tempFile, error) {
	var err error
	for range tempTries {
		name := d.names.next()
		var f *os.File
		if f, err = d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			return &tempFile{file: f, dir: d, name: name}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return nil, err
}

// discard removes the file unless it was published. It may be called twice.
func (t *tempFile) discard() {
	_ = t.file.Close()
	if t.name != "" {
		_ = t.dir.root.Remove(t.name)
		t.name = ""
	}
}

func (t *tempFile) publish(base string, _ bool) error {
	if err := t.file.Close(); err != nil {
		return err
	}
	err := t.dir.root.Rename(t.name, base)
	if err == nil {
		t.name = ""
	}
	return err
}

// keepAttributes has nothing to keep: a new file inherits its folder's list.
func keepAttributes(*os.File, *folder, string, entry) (string, error) { return "", nil }

func reserve(*os.File, int64, int64) error { return nil }

func freeBytes(*os.File) (uint64, bool) { return 0, false }

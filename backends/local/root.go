package local

import (
	"io/fs"
	"os"
	"path/filepath"
)

// The methods of root go through os.Root, or straight to the file system when
// the workspace is not confined. Names are relative to the root.

func (r *root) lstat(name string) (fs.FileInfo, error) {
	if r.handle == nil {
		return os.Lstat(filepath.Join(r.canonical, name))
	}
	return r.handle.Lstat(name)
}

func (r *root) stat(name string) (fs.FileInfo, error) {
	if r.handle == nil {
		return os.Stat(filepath.Join(r.canonical, name))
	}
	return r.handle.Stat(name)
}

func (r *root) readlink(name string) (string, error) {
	if r.handle == nil {
		return os.Readlink(filepath.Join(r.canonical, name))
	}
	return r.handle.Readlink(name)
}

func (r *root) openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	if r.handle == nil {
		return os.OpenFile(filepath.Join(r.canonical, name), flag, perm)
	}
	return r.handle.OpenFile(name, flag, perm)
}

func (r *root) mkdirAll(name string, perm fs.FileMode) error {
	if r.handle == nil {
		return os.MkdirAll(filepath.Join(r.canonical, name), perm)
	}
	if name == "." {
		return nil
	}
	return r.handle.MkdirAll(name, perm)
}

//go:build unix

package local

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// executable checks that path is a program that may be run.
func executable(path string) error {
	if !filepath.IsAbs(path) {
		return fs.ErrInvalid
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fs.ErrPermission
	}
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

// findProgram looks a name up in a list of absolute folders; relative ones are
// passed over, since they would mean the engine's folder.
func findProgram(search, name string) string {
	for _, dir := range filepath.SplitList(search) {
		if p := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(p) == nil {
			return p
		}
	}
	return ""
}

package local

import (
	"io/fs"
	"os"
	"path/filepath"
)

// executable checks that path is a program.
func executable(path string) error {
	if !filepath.IsAbs(path) {
		return fs.ErrInvalid
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrPermission
	}
	return err
}

// findProgram looks a name up in a list of absolute folders.
func findProgram(search, name string) string {
	for _, dir := range filepath.SplitList(search) {
		if p := filepath.Join(dir, name+".exe"); filepath.IsAbs(dir) && executable(p) == nil {
			return p
		}
	}
	return ""
}

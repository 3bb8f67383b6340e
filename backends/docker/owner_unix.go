//go:build unix

package docker

import (
	"os"
	"syscall"
)

// owner returns who owns a folder of this machine; false if that can't be told.
func owner(dir string) (uid, gid uint32, ok bool) {
	if dir == "" {
		return 0, 0, false
	}
	info, err := os.Stat(dir)
	if err != nil {
		return 0, 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return st.Uid, st.Gid, true
}

//go:build unix

package local

import (
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/piremote/piremote/tools/ops"
)

// plainInfo keeps nothing of a file's metadata that reaches the system again.
func plainInfo(path string, info fs.FileInfo) ops.FileInfo {
	plain := ops.FileInfo{
		FileName: filepath.Base(path), FileSize: info.Size(), FileMode: info.Mode(), Modified: info.ModTime(),
	}
	plain.ID = fileID(info)
	return plain
}

func fileID(info fs.FileInfo) ops.FileID {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return ops.FileID{Device: uint64(st.Dev), Inode: st.Ino} //nolint:unconvert // the type differs between systems
	}
	return ops.FileID{}
}

// virtual reports whether a file has a size but no blocks, as in /sys.
func virtual(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Blocks == 0
}

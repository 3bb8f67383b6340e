package local

import (
	"io/fs"
	"path/filepath"

	"github.com/piremote/piremote/tools/ops"
)

// plainInfo keeps nothing of a file's metadata that reaches the system again.
// Windows tells a file's id only of an open handle; it stays unknown.
func plainInfo(path string, info fs.FileInfo) ops.FileInfo {
	return ops.FileInfo{
		FileName: filepath.Base(path), FileSize: info.Size(), FileMode: info.Mode(), Modified: info.ModTime(),
	}
}

func virtual(fs.FileInfo) bool { return false }

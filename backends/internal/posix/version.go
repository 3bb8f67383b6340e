package posix

import (
	"fmt"

	"github.com/piremote/piremote/tools/ops"
)

// version is what tells the states of a file apart; zero where the target knows no
// times.
func version(info ops.FileInfo) ops.Version {
	if info.Modified.IsZero() {
		return ops.Version{}
	}
	return ops.Version{Size: info.FileSize, Modified: info.Modified, ID: info.ID}
}

// versionWords spells a version as p_version of the prelude does. What is not known is
// no version of any file.
func versionWords(v ops.Version) string {
	if !v.Known() {
		return "unknown"
	}
	return fmt.Sprintf("%d %d %d %d %09d", v.Size, v.Modified.Unix(), v.ID.Device, v.ID.Inode, v.Modified.Nanosecond())
}

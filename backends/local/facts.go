package local

import "io/fs"

// facts is what a workspace learns of its machine when it is opened.
type facts struct {
	umask fs.FileMode // bits that new files don't get
	proc  bool        // /proc/self/fd names open files
}

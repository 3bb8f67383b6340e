package largebuf

import (
	"os"

	"golang.org/x/sys/unix"
)

// advise asks for large pages. Large slices begin with a page; where one does not,
// or there are none to be had, nothing but time is lost.
func advise(b []byte) {
	_ = unix.Madvise(b[:len(b)-len(b)%os.Getpagesize()], unix.MADV_HUGEPAGE)
}

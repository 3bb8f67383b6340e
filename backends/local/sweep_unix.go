//go:build unix

package local

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/local/internal/proctree"
)

// thisWriter is the name of this process among the writers.
func thisWriter() writer {
	pid := os.Getpid()
	w := writer{machine: machine(), pid: pid}
	start, err := proctree.Start(pid)
	if err != nil || start == 0 {
		w.machine = 0 // nobody could tell whether it lives
	}
	w.start = uint16(start) //nolint:gosec // the low bits
	return w
}

// dead reports whether a writer is known to have ended.
func (w writer) dead(self writer) bool {
	if w.machine == 0 || w.machine != self.machine || w.pid <= 1 {
		return false
	}
	err := unix.Kill(w.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return true
	}
	start, serr := proctree.Start(w.pid)
	return err == nil && serr == nil && uint16(start) != w.start //nolint:gosec // the low bits
}

// hold marks a temporary file as being written; the mark ends with the writer.
// Where a file system has no locks the name alone tells.
func (t *tempFile) hold() { _ = unix.Flock(int(t.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// sweep removes what killed writers left in the folder. Faults don't matter:
// what can't be removed stays, hidden from listings.
func (d *folder) sweep(self writer) {
	list, err := d.openAt(".", os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return
	}
	defer func() { _ = list.Close() }()
	for seen := 0; seen < sweepEntries; {
		names, err := list.Readdirnames(dirBatch)
		for _, name := range names {
			if isTemp(name) {
				d.removeLeft(name, self)
			}
		}
		if seen += len(names); err != nil {
			return
		}
	}
}

func (d *folder) removeLeft(name string, self writer) {
	f, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return
	}
	euid := os.Geteuid()
	ours := st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 1 && (euid == 0 || int(st.Uid) == euid)
	info, err := f.Stat()
	if err != nil || !ours || !writerOf(name).dead(self) && time.Since(info.ModTime()) < staleAge {
		return
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return // somebody writes it
	}
	if now, err := d.lstat(name); err == nil && now.dev == uint64(st.Dev) && now.ino == st.Ino { //nolint:unconvert // types differ between systems
		_ = d.remove(name)
	}
}

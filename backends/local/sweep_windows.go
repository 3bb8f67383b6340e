package local

import (
	"errors"
	"io"
	"os"
	"time"
)

// thisWriter is the name of this process among the writers. Nobody asks for it:
// the file of a writer that lives is open, and can't be removed.
func thisWriter() writer { return writer{pid: os.Getpid()} }

// sweep removes old temporary files that nobody has open.
func (d *folder) sweep(writer) {
	list, err := d.root.Open(".")
	if err != nil {
		return
	}
	defer func() { _ = list.Close() }()
	for seen := 0; seen < sweepEntries; {
		entries, err := list.ReadDir(dirBatch)
		for _, entry := range entries {
			if !isTemp(entry.Name()) {
				continue
			}
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) >= staleAge {
				_ = d.root.Remove(entry.Name())
			}
		}
		if seen += len(entries); errors.Is(err, io.EOF) || err != nil {
			return
		}
	}
}

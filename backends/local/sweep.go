package local

import (
	"path/filepath"
	"sync"
)

// Bounds of looking for what killed writers left.
const (
	sweepEntries = 16 << 10 // names of a folder that are looked at
	sweepFolders = 4 << 10  // folders that are remembered as swept
)

// sweeper removes, before the first write to a folder, the temporary files that
// killed writers left in it, and at the first write of all those in the working
// folder. It never removes the file of a writer that may live, nor one that is
// not ours (hazard WRIT-06).
type sweeper struct {
	mu    sync.Mutex
	swept map[string]bool
}

// first reports whether a folder has not been swept yet, and notes it.
func (s *sweeper) first(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.swept[path] {
		return false
	}
	if s.swept == nil || len(s.swept) >= sweepFolders {
		s.swept = map[string]bool{}
	}
	s.swept[path] = true
	return true
}

// sweepFor sweeps the folder that is about to be written to.
func (v *view) sweepFor(at place, dir *folder) {
	s := &v.ws.sweeper
	if s.first(filepath.Dir(at.abs())) {
		dir.sweep(v.ws.names.self)
	}
	if own, err := v.locate(v.dir); err == nil && !own.root.readOnly && s.first(own.abs()) {
		if d, err := openFolder(own.root, own.name); err == nil {
			d.sweep(v.ws.names.self)
			d.close()
		}
	}
}

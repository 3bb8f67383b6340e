package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/piremote/piremote/tools/ops"
	"github.com/piremote/piremote/tools/textout"
)

// spills are the files with the full outputs of commands: in a private folder
// with a random name, each made new, readable through the workspace although it
// lies outside of its root (hazard BASH-10).
type spills struct {
	parent string
	limit  int64 // bytes of all finished ones together; zero means maxSpilled

	mu     sync.Mutex
	folder *os.Root
	path   string
	files  map[string]os.FileInfo // by absolute path, as they were made
	order  []finished             // oldest first
	total  int64                  // bytes of these
	closed bool
}

// maxSpilled is how much the outputs of one workspace may take on disk. Beyond
// it the oldest are removed.
const maxSpilled = 1 << 30

// finished is the file of a command that has ended.
type finished struct {
	path string
	size int64
}

// create makes a new file and returns it with its path.
func (s *spills) create(name string) (*os.File, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, "", os.ErrClosed
	}
	if s.folder == nil {
		if err := s.makeFolder(); err != nil {
			return nil, "", err
		}
	}
	f, err := s.folder.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
	if err != nil {
		return nil, "", err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, "", err
	}
	path := filepath.Join(s.path, name)
	s.files[path] = info
	return f, path, nil
}

func (s *spills) makeFolder() error {
	parent, err := filepath.Abs(s.parent)
	if err != nil {
		return err
	}
	path, err := os.MkdirTemp(parent, "piremote-") // 0700
	if err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	folder, err := os.OpenRoot(path)
	if err != nil {
		_ = os.Remove(path)
		return err
	}
	s.folder, s.path, s.files = folder, path, map[string]os.FileInfo{}
	return nil
}

// open opens one of the files for reading, or returns nil when path is none, or
// is no longer the very file that was made. One that was removed is
// fs.ErrNotExist.
func (s *spills) open(path string) (*os.File, error) {
	s.mu.Lock()
	made, ok := s.files[filepath.Clean(path)]
	folder := s.folder
	s.mu.Unlock()
	if !ok {
		return nil, nil
	}
	f, err := folder.OpenFile(filepath.Base(path), readFlags|noFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, nil //nolint:nilerr // it is none of ours any more
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(info, made) {
		_ = f.Close()
		return nil, nil //nolint:nilerr // as above
	}
	return f, nil
}

// finish counts a file that is complete, and makes room for it.
func (s *spills) finish(path string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folder == nil {
		return
	}
	limit := s.limit
	if limit <= 0 {
		limit = maxSpilled
	}
	s.order = append(s.order, finished{path, size})
	s.total += size
	for s.total > limit && len(s.order) > 1 {
		_ = s.folder.Remove(filepath.Base(s.order[0].path)) // it may be gone
		s.total -= s.order[0].size
		s.order = s.order[1:]
	}
}

// remove removes one of the files.
func (s *spills) remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.files[path]; ok && s.folder.Remove(filepath.Base(path)) == nil {
		delete(s.files, path)
	}
}

// close removes the files and their folder, and nothing else.
func (s *spills) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.folder == nil {
		return nil
	}
	var errs []error
	for path := range s.files {
		if err := s.folder.Remove(filepath.Base(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	errs = append(errs, s.folder.Close())
	if err := os.Remove(s.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}
	s.folder, s.files, s.order, s.total = nil, nil, nil, 0
	return errors.Join(errs...)
}

// spill is the full output of one command.
type spill struct {
	*textout.Spill
	owner *spills
	path  string
}

// newSpill returns nil when the command wants none.
func (s *spills) newSpill(cmd ops.Command, id string) *spill {
	if !cmd.Spill {
		return nil
	}
	limit := cmd.SpillLimit
	if limit <= 0 {
		limit = ops.DefaultSpillLimit
	}
	sp := &spill{owner: s}
	sp.Spill = textout.NewSpill(limit, ops.SpillBytes, ops.SpillLines-1, func() (textout.SpillFile, error) {
		f, path, err := s.create("output-" + id + ".log")
		sp.path = path
		return f, err
	})
	return sp
}

// report closes the file and names it in the command's end. A file that could
// not be written to its end is not named: what it holds is not the full output.
func (sp *spill) report(exit *ops.Exit) {
	if sp == nil {
		return
	}
	r, err := sp.Close()
	if r.Written {
		sp.owner.finish(sp.path, r.Size)
	}
	if err == nil && r.Written {
		exit.SpillPath, exit.SpillSize, exit.SpillCut = sp.path, r.Size, r.Cut
	}
}

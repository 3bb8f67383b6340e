package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/internal/programs"
)

// Modes of what Extract makes.
const (
	folderMode  = 0o700
	programMode = 0o500
	othersWrite = 0o022
)

// staleAge is when a temporary file counts as left by an extraction that broke off.
const staleAge = 24 * time.Hour

// Extract puts the helper for this machine into a private folder, which is made if
// it is not there, and holds it there until it is closed. A program that is there is
// hashed each time and replaced if it was changed. The error says why the folder is
// not used: it is a link, belongs to another account, is open to others, holds a
// link or another account's file in the program's place, is full, or lets no
// program run. A bundle without a program for this machine is an *AbsentError.
// Extractions at the same time do no harm to each other. Programs of other versions
// go when nobody has used them for a month.
func (b Bundle) Extract(dir string) (*Extracted, error) {
	p, err := b.Find(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	folder, err := enterPrivate(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }() // it was only looked into
	name := p.Name()
	file := filepath.Join(dir, name)
	var held *os.File
	for try := 1; ; try++ {
		same, err := sameProgram(folder, name, p)
		if err == nil && !same {
			err = p.unpack(folder, name)
		}
		if err == nil {
			held, err = programs.Hold(file)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || try == tries { // else it was removed before it was held
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := unix.Access(file, unix.X_OK); err != nil {
		_ = held.Close() // the reason counts
		return nil, fmt.Errorf("%s can't be executed (%w): its file system may be mounted noexec", file, err)
	}
	_, _ = programs.Remove(dir, name, programs.Unused) // nothing depends on it
	return &Extracted{Path: file, held: held}, nil
}

// tries bounds how often a program is unpacked that others remove.
const tries = 10

// enterPrivate opens a folder that nobody but this account can change.
func enterPrivate(dir string) (*os.Root, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("the folder %q for the helper is not absolute", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), folderMode); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	named, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, fmt.Errorf("%s is no folder", dir)
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := private(folder, named); err != nil {
		_ = folder.Close() // the reason counts
		return nil, fmt.Errorf("%s %w", dir, err)
	}
	return folder, nil
}

// private checks an open folder, which had a name a moment ago.
func private(folder *os.Root, named fs.FileInfo) error {
	info, err := folder.Stat(".")
	switch {
	case err != nil:
		return err
	case !os.SameFile(info, named):
		return errors.New("was replaced while it was opened")
	case !mine(info):
		return errors.New("belongs to another account")
	case info.Mode().Perm() != folderMode:
		return fmt.Errorf("is not private: its mode is %v, chmod 700 it", info.Mode().Perm())
	}
	return nil
}

func mine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// sameProgram says whether a file is the program. What must be neither run nor
// replaced is an error.
func sameProgram(folder *os.Root, name string, p Program) (bool, error) {
	info, err := folder.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, errors.New("it is no regular file; remove it")
	case !mine(info):
		return false, errors.New("it belongs to another account; remove it")
	case info.Mode().Perm()&othersWrite != 0:
		return false, fmt.Errorf("others can change it, its mode is %v; remove it", info.Mode().Perm())
	case info.Mode().Perm()&programMode != programMode || info.Size() != p.Size:
		return false, nil
	}
	return holds(folder, name, p)
}

// holds says whether a file has the program's hash.
func holds(folder *os.Root, name string, p Program) (bool, error) {
	f, err := folder.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, p.Size+1))
	return err == nil && hash(data) == p.Hash, err
}

// unpack writes the program under another name, looks at what was written, and
// gives it its name in one step.
func (p Program) unpack(folder *os.Root, name string) error {
	sweep(folder)
	data, err := p.Bytes()
	if err != nil {
		return err
	}
	temp := tempPrefix + newMarker().String()
	defer func() { _ = folder.Remove(temp) }() // it is gone if all went well
	if err := folder.WriteFile(temp, data, folderMode); err != nil {
		return err
	}
	if same, err := holds(folder, temp, p); err != nil || !same {
		return errors.Join(errors.New("what was written reads differently"), err)
	}
	if err := folder.Chmod(temp, programMode); err != nil {
		return err
	}
	return folder.Rename(temp, name)
}

// tempPrefix is what the names of unfinished files begin with.
const tempPrefix = "new-"

// sweep removes what broken extractions left.
func sweep(folder *os.Root) {
	entries, err := fs.ReadDir(folder.FS(), ".")
	if err != nil {
		return // nothing depends on it
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), tempPrefix) && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAge {
			_ = folder.Remove(e.Name()) // as above
		}
	}
}

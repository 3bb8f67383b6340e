package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Change is what a sandbox did to one file, folder or link of its copy.
type Change struct {
	Path string // relative to the folder, with slashes
	// Before and After are its states; nil: it was, or is, not there.
	Before, After *FileState
}

// FileState is a file, a folder or a link.
type FileState struct {
	Mode fs.FileMode // its type, and the permissions but for those of a link
	Size int64       // of a file
	Hash string      // of a file: the SHA-256 of the content in hexadecimal
	Link string      // where a link leads
}

// maxChanged bounds the content that is kept of what a sandbox made.
const maxChanged = 1 << 30

// saveChanges keeps what is different in the copy in a container from what was copied
// in, in the folder that has the copy's record. The record goes, unless that fails.
func (r *runner) saveChanges(ctx context.Context, id, dir string, of copyRecord) error {
	c := &collector{dir: dir, base: of.Base, after: manifest{}}
	if root, err := os.OpenRoot(of.Folder); err == nil {
		c.folder = root
		defer func() { _ = root.Close() }() // it was only read
	}
	archive, err := r.daemon.CopyOut(ctx, id, of.Dir)
	if err == nil {
		err = c.read(archive, path.Base(of.Dir))
		_ = archive.Close() // it was only read
	}
	set := ChangeSet{Name: filepath.Base(dir), Folder: of.Folder, Image: of.Image, Time: time.Now(), Changes: c.changes(), Skipped: c.skipped, dir: dir}
	if err == nil {
		err = set.store()
	}
	if err != nil {
		c.forget()
		return err
	}
	removeCopyRecord(dir)
	if r.notice != nil && len(set.Changes) > 0 {
		what := fmt.Sprintf("%d files and folders", len(set.Changes))
		if len(set.Changes) == 1 {
			what = "1 file or folder"
		}
		r.notice(fmt.Sprintf("The sandbox %s changed %s of its copy: piremote diff shows it, piremote apply puts it into %s.", set.Name, what, of.Folder))
	}
	return nil
}

// collector reads a copy's archive. Nothing of it is unpacked but the content of files
// that are new, under their hash (hazard DKF-04).
type collector struct {
	dir     string
	folder  *os.Root // what was copied, as it is now; nil if it is gone
	base    manifest
	after   manifest
	kept    int64
	skipped []string
}

// read takes in an archive of a folder that has the name.
func (c *collector) read(archive io.Reader, name string) error {
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, ok := within(h.Name, name)
		if !ok {
			return fmt.Errorf("the daemon's archive of the copy holds %q, which is not in it", h.Name)
		}
		state := FileState{Mode: fs.FileMode(h.Mode).Perm()} //nolint:gosec // permissions
		switch h.Typeflag {
		case tar.TypeDir:
			state.Mode |= fs.ModeDir
		case tar.TypeSymlink:
			state = FileState{Mode: fs.ModeSymlink, Link: h.Linkname}
		case tar.TypeReg:
			if err := c.content(r, rel, &state); err != nil {
				return err
			}
		case tar.TypeLink:
			to, inside := within(h.Linkname, name)
			if state, ok = c.after[to]; !ok || !inside {
				return fmt.Errorf("the daemon's archive of the copy links %q to %q, which is not in it", h.Name, h.Linkname)
			}
			if err := c.linked(to, rel, state); err != nil {
				return err
			}
		default:
			c.skipped = append(c.skipped, rel)
			continue
		}
		c.after[rel] = state
	}
}

// within returns the path of an entry below the folder that the archive is of.
func within(entry, name string) (rel string, ok bool) {
	entry = strings.TrimSuffix(entry, "/")
	if entry == name {
		return ".", true
	}
	rel, ok = strings.CutPrefix(entry, name+"/")
	return rel, ok && fs.ValidPath(rel) && rel != "."
}

// content reads a file's content, and keeps it if the file was another one before.
func (c *collector) content(r io.Reader, rel string, state *FileState) error {
	f, err := os.CreateTemp(c.dir, "part-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it has another name by then, or none
	sum := sha256.New()
	state.Size, err = io.Copy(io.MultiWriter(f, sum), r)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	state.Hash = hex.EncodeToString(sum.Sum(nil))
	if c.base[rel].Hash == state.Hash {
		return nil
	}
	return c.keep(f.Name(), *state)
}

// keep lets a file be the content of a state.
func (c *collector) keep(file string, state FileState) error {
	if c.kept += state.Size; c.kept > maxChanged {
		return fmt.Errorf("the sandbox changed files of more than %d MiB", maxChanged>>20)
	}
	return os.Rename(file, filepath.Join(c.dir, state.Hash))
}

// linked keeps the content of a hard link to a file that the sandbox did not change,
// which is not kept otherwise: from the folder, unless it was changed there since.
func (c *collector) linked(to, rel string, state FileState) error {
	if c.folder == nil || c.base[rel].Hash == state.Hash || c.base[to].Hash != state.Hash {
		return nil
	}
	info, err := c.folder.Lstat(filepath.FromSlash(to))
	if err != nil || !info.Mode().IsRegular() || info.Size() != state.Size {
		return nil // it was changed
	}
	from, err := c.folder.Open(filepath.FromSlash(to))
	if err != nil {
		return nil // as above
	}
	defer func() { _ = from.Close() }() // it was only read
	f, err := os.CreateTemp(c.dir, "part-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it has another name by then, or none
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), from)
	if err = errors.Join(err, f.Close()); err != nil || hex.EncodeToString(sum.Sum(nil)) != state.Hash {
		return err
	}
	return c.keep(f.Name(), state)
}

// forget removes what was kept until then, and leaves the record. A set that another
// process has completed meanwhile stays.
func (c *collector) forget() {
	if _, err := os.Stat(filepath.Join(c.dir, changeList)); err == nil {
		return
	}
	list, err := os.ReadDir(c.dir)
	for _, e := range list {
		if err == nil && e.Name() != copyList {
			_ = os.RemoveAll(filepath.Join(c.dir, e.Name())) // the next time then
		}
	}
}

// changes compares what was with what is, in the order of paths.
func (c *collector) changes() (list []Change) {
	names := maps.Clone(c.base)
	maps.Copy(names, c.after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, was := c.base[name]
		after, is := c.after[name]
		if name == "." || slices.Contains(c.skipped, name) || was && is && before == after {
			continue
		}
		change := Change{Path: name}
		if was {
			change.Before = &before
		}
		if is {
			change.After = &after
		}
		list = append(list, change)
	}
	return list
}

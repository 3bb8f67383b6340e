package docker

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Applied says what became of a change.
type Applied struct {
	Change Change
	// Refused says why it was not made; nil if it was.
	Refused error
}

// ErrChangedHere is why a change is refused: what it changes is not what was copied any
// more. Both versions stay; see Content.
var ErrChangedHere = errors.New("it was changed here since the copy was made")

// errNotKept is why a change can't be made whose content is missing: somebody removed it,
// or it is a hard link that the sandbox made to a file which was changed here only.
var errNotKept = errors.New("its content was not kept")

// Apply makes the changes in the folder, each of a file as a whole. Links are not
// followed, and nothing outside of the folder is reached. What was changed here since the
// copy was made is left as it is, and the change stays in the set; so does one that
// fails. A set of which nothing is left is forgotten. Another program that changes a
// file between the last look at it and the rename loses its change.
func (c *ChangeSet) Apply() ([]Applied, error) {
	root, err := os.OpenRoot(c.Folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // only folders
	order := slices.Clone(c.Changes)
	// What goes goes first, the content of folders before them.
	slices.SortStableFunc(order, func(a, b Change) int {
		switch {
		case a.After == nil && b.After == nil:
			return strings.Compare(b.Path, a.Path)
		case a.After == nil:
			return -1
		case b.After == nil:
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	var list []Applied
	c.Changes = nil
	for _, change := range order {
		a := Applied{change, c.apply(root, change)}
		if a.Refused != nil {
			c.Changes = append(c.Changes, change)
		}
		list = append(list, a)
	}
	return list, c.store()
}

func (c *ChangeSet) apply(root *os.Root, change Change) error {
	name := filepath.FromSlash(change.Path)
	now, err := stateOf(root, name)
	switch {
	case err != nil:
		return err
	case same(now, change.After):
		return nil // it has been made
	case !same(now, change.Before):
		return ErrChangedHere
	case change.After == nil:
		return root.Remove(name)
	case change.After.Mode.IsDir() && now != nil && now.Mode.IsDir():
		return root.Chmod(name, change.After.Mode.Perm())
	case now != nil && now.Mode.IsDir():
		return fmt.Errorf("it is a folder here, and none in the sandbox: remove it first")
	case change.After.Mode.IsDir():
		if now != nil {
			return fmt.Errorf("it is no folder here: remove it first")
		}
		return errors.Join(root.Mkdir(name, 0o700), root.Chmod(name, change.After.Mode.Perm()), c.give(root, name))
	case change.After.Mode&fs.ModeSymlink != 0:
		if to := path.Join(path.Dir(change.Path), change.After.Link); path.IsAbs(change.After.Link) || to == ".." || strings.HasPrefix(to, "../") {
			return fmt.Errorf("it is a link to %q, outside of the folder", change.After.Link)
		}
		return c.replace(root, name, func(part string) error { return root.Symlink(change.After.Link, part) })
	case change.Before != nil && change.Before.Hash == change.After.Hash:
		return root.Chmod(name, change.After.Mode.Perm())
	case c.Content(change) == "":
		return errNotKept
	}
	return c.replace(root, name, func(part string) error { return c.write(root, part, change) })
}

// replace puts what make makes in the place of name.
func (c *ChangeSet) replace(root *os.Root, name string, make func(part string) error) error {
	part := filepath.Join(filepath.Dir(name), ".piremote-apply-"+rand.Text())
	err := make(part)
	if err == nil {
		err = errors.Join(c.give(root, part), root.Rename(part, name))
	}
	if err != nil {
		_ = root.Remove(part) // it may not be there
	}
	return err
}

func (c *ChangeSet) write(root *os.Root, part string, change Change) error {
	from, err := os.Open(c.Content(change))
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	f, err := root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), from)
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != change.After.Hash {
		err = errors.New("what was kept of it is damaged")
	}
	return errors.Join(err, f.Chmod(change.After.Mode.Perm()), f.Sync(), f.Close())
}

// give lets what root made belong to who owns the folder.
func (c *ChangeSet) give(root *os.Root, name string) error {
	if uid, gid, ok := owner(c.Folder); ok && os.Geteuid() == 0 {
		return root.Lchown(name, int(uid), int(gid))
	}
	return nil
}

// stateOf describes what there is, without following a link; nil if there is nothing.
func stateOf(root *os.Root, name string) (*FileState, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nothing is a state
	}
	if err != nil {
		return nil, err
	}
	s := &FileState{Mode: info.Mode().Type() | info.Mode().Perm()}
	switch {
	case s.Mode&fs.ModeSymlink != 0:
		s.Mode = fs.ModeSymlink
		s.Link, err = root.Readlink(name)
	case s.Mode.IsRegular():
		var f *os.File
		if f, err = root.Open(name); err != nil {
			return nil, err
		}
		sum := sha256.New()
		s.Size, err = io.Copy(sum, f)
		s.Hash, err = hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
	}
	return s, err
}

func same(a, b *FileState) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// fresh reports whether what a change changes is still what was copied.
func (c *ChangeSet) fresh(change Change) (bool, error) {
	root, err := os.OpenRoot(c.Folder)
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }() // only a folder
	now, err := stateOf(root, filepath.FromSlash(change.Path))
	return same(now, change.Before), err
}

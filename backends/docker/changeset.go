package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/piremote/piremote/tools/textedit"
)

// ChangeSet is what a sandbox changed in its copy of a folder. It is not safe for
// concurrent use.
type ChangeSet struct {
	Name    string // of the sandbox
	Folder  string // of this machine
	Image   string
	Time    time.Time // when it was closed
	Changes []Change
	// Skipped are paths of what is no file, folder or link.
	Skipped []string

	dir string // with its list, and contents by their hash
}

const changeList = "changes.json"

// Changes returns the sets that are kept in a folder, SandboxOptions.ChangesDir, of
// copies of a folder of this machine; the oldest first.
func Changes(dir, folder string) ([]*ChangeSet, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []*ChangeSet
	for _, e := range entries {
		c := &ChangeSet{dir: filepath.Join(dir, e.Name())}
		err := readJSON(filepath.Join(c.dir, changeList), c)
		switch {
		case errors.Is(err, fs.ErrNotExist): // one that is being made
		case err != nil:
			return list, fmt.Errorf("the changes in %s can't be read: %w", c.dir, err)
		case c.Folder == folder:
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *ChangeSet) int { return a.Time.Compare(b.Time) })
	return list, nil
}

// store writes the list; a set without changes is removed.
func (c *ChangeSet) store() error {
	if len(c.Changes) == 0 {
		return c.Discard()
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	part := filepath.Join(c.dir, changeList+".part")
	return errors.Join(os.WriteFile(part, text, 0o600), os.Rename(part, filepath.Join(c.dir, changeList)))
}

// Discard forgets the changes.
func (c *ChangeSet) Discard() error { return os.RemoveAll(c.dir) }

// Content is the file of this machine that holds what a changed file is in the sandbox;
// empty where that is no file, or is not kept since only its permissions changed.
func (c *ChangeSet) Content(change Change) string {
	if change.After == nil || !change.After.Mode.IsRegular() {
		return ""
	}
	file := filepath.Join(c.dir, filepath.Base(change.After.Hash))
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

// Patch shows a change: a unified patch of text, or a sentence.
func (c *ChangeSet) Patch(change Change) (string, error) {
	old, next := "", ""
	fresh, err := c.fresh(change)
	switch {
	case err != nil:
		return "", err
	case change.After == nil:
		return "deleted: " + change.Path + since(fresh) + "\n", nil
	case change.After.Mode.IsDir():
		return "folder: " + change.Path + since(fresh) + "\n", nil
	case change.After.Mode&fs.ModeSymlink != 0:
		return fmt.Sprintf("link: %s to %q%s\n", change.Path, change.After.Link, since(fresh)), nil
	case !fresh:
		return fmt.Sprintf("changed: %s%s; the version of the sandbox is %s\n", change.Path, since(fresh), c.Content(change)), nil
	}
	if file := c.Content(change); file != "" {
		data, err := os.ReadFile(file) //nolint:gosec // of our own folder
		if err != nil {
			return "", err
		}
		next = string(data)
		if change.Before != nil && change.Before.Mode.IsRegular() {
			root, err := os.OpenRoot(c.Folder)
			if err != nil {
				return "", err
			}
			data, err = root.ReadFile(filepath.FromSlash(change.Path))
			if err = errors.Join(err, root.Close()); err != nil {
				return "", err
			}
			old = string(data)
		}
	}
	if isText(old) && isText(next) {
		if patch := textedit.Patch(change.Path, old, next); patch != "" {
			return patch, nil
		}
	}
	return fmt.Sprintf("changed: %s, %d bytes, permissions %o\n", change.Path, change.After.Size, change.After.Mode.Perm()), nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func since(fresh bool) string {
	if fresh {
		return ""
	}
	return " (it was changed here too, since the copy was made)"
}

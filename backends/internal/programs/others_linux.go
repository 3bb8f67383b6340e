package programs

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/backends/helper"
)

// Unused is how long nobody has begun to use a program that goes by itself: longer
// than people stay away, and one that is missed is carried again.
const Unused = 30 * 24 * time.Hour

// Others returns the programs in a folder but that with the name own. The folder is
// one that nobody but this account can change.
func Others(dir, own string) ([]helper.Copy, error) {
	return visit(dir, own, func(*os.Root, helper.Copy) error { return nil })
}

// Remove removes the programs in a folder that nobody uses, and has begun to use for
// so long, but that with the name own. It returns what was there before, as Others.
// A file that is a link, or another account's, is no program of ours and stays.
func Remove(dir, own string, unused time.Duration) ([]helper.Copy, error) {
	return visit(dir, own, func(root *os.Root, c helper.Copy) error {
		if c.InUse || time.Since(c.Used) < unused {
			return nil
		}
		return root.Remove(c.Name)
	})
}

// visit calls each with every other program. If it is not in use, nobody can begin to
// use it until each returns.
func visit(dir, own string, each func(*os.Root, helper.Copy) error) ([]helper.Copy, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only looked into
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var list []helper.Copy
	var errs []error
	for _, e := range entries {
		if e.Name() == own || !named(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		c, ours, err := look(root, e.Name(), each)
		if ours {
			list = append(list, c)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return list, errors.Join(errs...)
}

// named reports whether a program may have this name. That of a target without a
// shell has a random text behind its hash at times.
func named(name string) bool {
	text, ok := strings.CutPrefix(name, "helper-")
	hash, rest, more := strings.Cut(text, "-")
	_, err := hex.DecodeString(hash + rest)
	return ok && err == nil && len(hash) == 64 && more == (rest != "")
}

// look describes a program of this account and calls each with it.
func look(root *os.Root, name string, each func(*os.Root, helper.Copy) error) (c helper.Copy, ours bool, err error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return c, false, err
	}
	defer func() { _ = f.Close() }() // it was only looked at
	info, err := f.Stat()
	if err != nil {
		return c, false, err
	}
	named, err := root.Lstat(name)
	if err != nil || !os.SameFile(named, info) {
		return c, false, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() || !info.Mode().IsRegular() {
		return c, false, nil
	}
	c = helper.Copy{Name: name, Size: info.Size(), Used: info.ModTime()}
	// A file system that knows no locks lets nothing be removed.
	c.InUse = lock(f, unix.LOCK_EX|unix.LOCK_NB) != nil
	return c, true, each(root, c)
}

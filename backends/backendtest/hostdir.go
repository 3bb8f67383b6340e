package backendtest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// HostDir returns the fixture of a workspace whose folder targetDir is hostDir
// on this machine: a local folder, one behind a server here, or one that is
// mounted into a container. The folders that hold the two must correspond too,
// so that siblings can be made. Processes are looked for on this machine, which
// must be Linux. Files belong to the account that runs the test.
func HostDir(hostDir, targetDir string) Fixture { return HostDirOf(hostDir, targetDir, -1) }

// HostDirOf is HostDir for a target whose account has another user id, which is
// its group id too: what the fixture makes is the account's. It needs root; -1
// means the account that runs the test.
func HostDirOf(hostDir, targetDir string, uid int) Fixture {
	return hostFixture{host: filepath.Dir(filepath.Clean(hostDir)), target: path.Dir(path.Clean(targetDir)), uid: uid}
}

type hostFixture struct {
	host, target string
	uid          int
}

// give makes what is at p, and the folders above that the fixture may have made,
// the account's.
func (h hostFixture) give(p string) error {
	for ; h.uid >= 0 && len(p) > len(h.host); p = filepath.Dir(p) {
		if err := os.Lchown(p, h.uid, h.uid); err != nil {
			return err
		}
	}
	return nil
}

// path translates a path on the target to one on this machine.
func (h hostFixture) path(p string) (string, error) {
	rest, ok := strings.CutPrefix(path.Clean(p), strings.TrimSuffix(h.target, "/")+"/")
	if !ok {
		return "", &fs.PathError{Op: "fixture", Path: p, Err: fmt.Errorf("not below %s", h.target)}
	}
	return filepath.Join(h.host, filepath.FromSlash(rest)), nil
}

func (h hostFixture) PutFile(p string, data []byte, mode fs.FileMode) error {
	p, err := h.path(p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(p, data, 0o600); err != nil {
		return err
	}
	if err := h.give(p); err != nil {
		return err
	}
	return os.Chmod(p, mode)
}

func (h hostFixture) GetFile(p string) ([]byte, error) {
	p, err := h.path(p)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(p)
}

func (h hostFixture) Lstat(p string) (fs.FileInfo, error) {
	p, err := h.path(p)
	if err != nil {
		return nil, err
	}
	return os.Lstat(p)
}

func (h hostFixture) Names(dir string) ([]string, error) {
	dir, err := h.path(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (h hostFixture) Remove(p string) error {
	p, err := h.path(p)
	if err != nil {
		return err
	}
	return os.Remove(p)
}

func (h hostFixture) Chmod(p string, mode fs.FileMode) error {
	p, err := h.path(p)
	if err != nil {
		return err
	}
	return os.Chmod(p, mode)
}

func (h hostFixture) Mkdir(p string, mode fs.FileMode) error {
	p, err := h.path(p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p, 0o755); err != nil {
		return err
	}
	if err := h.give(p); err != nil {
		return err
	}
	return os.Chmod(p, mode)
}

func (h hostFixture) Symlink(target, p string) error {
	p, err := h.path(p)
	if err != nil {
		return err
	}
	if err := os.Symlink(target, p); err != nil {
		return err
	}
	return h.give(p)
}

func (h hostFixture) Link(old, p string) error {
	old, err := h.path(old)
	if err != nil {
		return err
	}
	if p, err = h.path(p); err != nil {
		return err
	}
	return os.Link(old, p)
}

func (h hostFixture) Mkfifo(p string) error {
	p, err := h.path(p)
	if err != nil {
		return err
	}
	if err := mkfifo(p); err != nil {
		return err
	}
	return h.give(p)
}

// ProcessesWith reads /proc; a zombie has no command line.
func (h hostFixture) ProcessesWith(arg string) (int, error) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		return 0, fmt.Errorf("processes can't be seen here: %w", err)
	}
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0, err
	}
	n := 0
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		for a := range bytes.SplitSeq(line, []byte{0}) {
			if string(a) == arg {
				n++
				break
			}
		}
	}
	return n, nil
}

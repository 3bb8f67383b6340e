package opstest

import (
	"io/fs"
	"path"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// The methods below make and inspect things in the tree behind the contract's
// back; they ignore confinement.

// PutFile writes a file, making the folders above it.
func (m *Memory) PutFile(p string, data []byte, mode fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.mkdirAll(path.Dir(p)); err != nil {
		return err
	}
	at, err := m.walk(p, true)
	if err != nil {
		return pathError("put", p, err)
	}
	if at.node == nil {
		at.node = m.newNode(mode)
		at.parent.children[at.name] = at.node
	}
	at.node.mode = mode
	return m.store(at.node, data)
}

// GetFile returns the content of a file.
func (m *Memory) GetFile(p string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(p, true)
	if err == nil {
		err = at.err()
	}
	if err == nil && at.node.isDir() {
		err = ops.ErrIsDir
	}
	if err != nil {
		return nil, pathError("get", p, err)
	}
	return append([]byte{}, at.node.data...), nil
}

// Mkdir makes a folder and those above it.
func (m *Memory) Mkdir(p string, mode fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.mkdirAll(p); err != nil {
		return err
	}
	at, err := m.walk(p, true)
	if err != nil {
		return pathError("mkdir", p, err)
	}
	at.node.mode = fs.ModeDir | mode.Perm()
	return nil
}

// Symlink makes a link at p.
func (m *Memory) Symlink(target, p string) error {
	return m.add(p, func() *node {
		n := m.newNode(fs.ModeSymlink | 0o777)
		n.target = target
		return n
	})
}

// Mkfifo makes a FIFO at p.
func (m *Memory) Mkfifo(p string) error {
	return m.add(p, func() *node { return m.newNode(fs.ModeNamedPipe | 0o644) })
}

// Link makes p another name of the file old.
func (m *Memory) Link(old, p string) error {
	m.mu.Lock()
	at, err := m.walk(old, false)
	if err == nil {
		err = at.err()
	}
	m.mu.Unlock()
	if err != nil {
		return pathError("link", old, err)
	}
	return m.add(p, func() *node {
		at.node.links++
		return at.node
	})
}

func (m *Memory) add(p string, make func() *node) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(p, false)
	switch {
	case err != nil:
	case at.node != nil:
		err = fs.ErrExist
	case at.missing > 1 || at.notDir:
		err = fs.ErrNotExist
	default:
		at.parent.children[at.name] = make()
	}
	if err != nil {
		return pathError("add", p, err)
	}
	return nil
}

// Lstat describes what p names, links themselves included.
func (m *Memory) Lstat(p string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(p, false)
	if err == nil {
		err = at.err()
	}
	if err != nil {
		return nil, pathError("lstat", p, err)
	}
	return at.node.info(path.Base(p)), nil
}

// Readlink returns the target of a link.
func (m *Memory) Readlink(p string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(p, false)
	if err == nil {
		err = at.err()
	}
	if err != nil {
		return "", pathError("readlink", p, err)
	}
	return at.node.target, nil
}

// Names lists a folder.
func (m *Memory) Names(p string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(p, true)
	if err == nil {
		err = at.err()
	}
	if err != nil {
		return nil, pathError("names", p, err)
	}
	var names []string
	for name := range at.node.children {
		names = append(names, name)
	}
	return names, nil
}

// Remove removes the name p.
func (m *Memory) Remove(p string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(p, false)
	if err == nil {
		err = at.err()
	}
	if err != nil {
		return pathError("remove", p, err)
	}
	m.remove(at)
	return nil
}

// Chmod sets permissions.
func (m *Memory) Chmod(p string, mode fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(p, true)
	if err == nil {
		err = at.err()
	}
	if err != nil {
		return pathError("chmod", p, err)
	}
	at.node.mode = at.node.mode.Type() | mode.Perm()
	return nil
}

// Touch sets the time of the last change.
func (m *Memory) Touch(p string, t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, err := m.walk(p, true)
	if err == nil {
		err = at.err()
	}
	if err != nil {
		return pathError("touch", p, err)
	}
	at.node.modified = t
	return nil
}

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// disk is what a file needs of an *os.File.
type disk interface {
	io.WriteCloser
	Truncate(size int64) error
	Stat() (os.FileInfo, error)
	Sync() error
}

// file is where a log is stored.
type file struct {
	path     string
	memory   bool // nothing is stored
	readOnly bool
	stored   bool // the file exists
	disk     disk // nil before it is made, and when it is given up
	pending  []json.RawMessage
	size     int64
	broken   error // a failed write could not be taken back
	closed   bool
}

// ErrChanged says that another program wrote to an open session's file.
var ErrChanged = errors.New("another program has written to the session's file: open the session again")

// ErrLocked says that another process has the session open.
var ErrLocked = errors.New("the session is open in another process: end that one, or fork the session")

// Create begins a session. Its file is made, with mode 0600 in a folder of mode
// 0700, when a user or a model first says something; what was appended until then
// is kept and written with it.
func Create(o Options) (*Log, error) {
	l := newLog(o)
	l.begin()
	if err := validID(l.header.ID); err != nil {
		return nil, err
	}
	l.file.path = o.Path
	if o.Path == "" {
		if o.Dir == "" {
			return nil, errors.New("a session needs a folder for its file")
		}
		name := strings.NewReplacer(":", "-", ".", "-").Replace(stamp(l.header.Time)) + "_" + l.header.ID + ".jsonl"
		l.file.path = filepath.Join(o.Dir, name)
	}
	if _, err := os.Lstat(l.file.path); err == nil {
		return nil, fmt.Errorf("the session file %s exists already", l.file.path)
	}
	return l, nil
}

func validID(id string) error {
	edge := func(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	ok := id != "" && edge(id[0]) && edge(id[len(id)-1])
	for i := 0; i < len(id); i++ {
		ok = ok && (edge(id[i]) || strings.IndexByte("._-", id[i]) >= 0)
	}
	if !ok {
		return fmt.Errorf("the session id %q must be of letters, digits and ._- between letters or digits", id)
	}
	return nil
}

// write stores a line, or keeps it until there is a reason to make the file.
func (f *file) write(h Header, line json.RawMessage, worthAFile bool) error {
	switch {
	case f.closed:
		return errors.New("the session is closed")
	case f.readOnly:
		return ErrReadOnly
	case f.memory:
		return nil
	case f.broken != nil:
		return f.broken
	case f.stored:
		return f.put(append(line, '\n')) // line has room, or is copied
	}
	f.pending = append(f.pending, line)
	if !worthAFile {
		return nil
	}
	err := f.make(h)
	if err != nil {
		f.pending = f.pending[:len(f.pending)-1]
	}
	return err
}

// make makes the file, with what waits for it.
func (f *file) make(h Header) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	for _, one := range f.pending {
		data = append(append(data, '\n'), one...)
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("the session's folder can't be made: %w", err)
	}
	made, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("the session's file can't be made: %w", err)
	}
	if _, err = lock(made); err == nil {
		f.disk, f.size = made, 0
		err = f.put(append(data, '\n'))
	}
	if err != nil {
		f.disk, f.broken = nil, nil
		return errors.Join(err, made.Close(), os.Remove(f.path))
	}
	f.stored, f.pending = true, nil
	return nil
}

// put writes data at the end, or takes back what was written of it.
func (f *file) put(data []byte) error {
	info, err := f.disk.Stat()
	if err != nil {
		return fmt.Errorf("the session's file %s: %w", f.path, err)
	}
	if info.Size() != f.size {
		return fmt.Errorf("%w: %s", ErrChanged, f.path)
	}
	n, err := f.disk.Write(data)
	if err == nil && n == len(data) {
		f.size += int64(n)
		return nil
	}
	if err == nil {
		err = io.ErrShortWrite
	}
	err = fmt.Errorf("the session could not be stored in %s: %w", f.path, err)
	if n > 0 {
		if back := f.disk.Truncate(f.size); back != nil {
			f.broken = errors.Join(err, fmt.Errorf("and what was written of the entry can't be taken back; open the session again: %w", back))
			return f.broken
		}
	}
	return err
}

func (f *file) sync() error {
	if f.disk == nil {
		return nil
	}
	return f.disk.Sync()
}

func (f *file) close() error {
	f.closed = true
	if f.disk == nil {
		return nil
	}
	err := errors.Join(f.disk.Sync(), f.disk.Close())
	f.disk = nil
	return err
}

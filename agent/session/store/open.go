package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Repair is what was wrong with a file when it was opened, and what was done. Of a
// file that was only read nothing was changed.
type Repair struct {
	// Torn is how many bytes of an unfinished last record were cut off.
	Torn int
	// Unreadable are the lines, from 1, that hold no entry; they are left as they are.
	Unreadable []int
	// Reason says why the first of them can't be read.
	Reason string
	// Migrated is the older version of the format that the file had, or 0.
	Migrated int
}

// String is a sentence about each fault; empty if there was none.
func (r Repair) String() string {
	var list []string
	if r.Torn > 0 {
		list = append(list, fmt.Sprintf("The last record was cut off when it was written; its %d bytes were removed.", r.Torn))
	}
	if n := len(r.Unreadable); n > 0 {
		list = append(list, fmt.Sprintf("%d of its lines can't be read, the first is line %d: %s.", n, r.Unreadable[0], r.Reason))
	}
	if r.Migrated > 0 {
		list = append(list, fmt.Sprintf("It was of version %d of the format and is now of version %d.", r.Migrated, Version))
	}
	return strings.Join(list, " ")
}

// Read opens a session for reading, without a lock, and changes nothing.
func Read(path string) (*Log, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the session can't be read: %w", err)
	}
	l := newLog(Options{})
	if _, err := l.load(data); err != nil {
		return nil, fmt.Errorf("%s is no session: %w", path, err)
	}
	l.file = file{path: path, stored: true, readOnly: true}
	return l, nil
}

// Open opens a session to continue it, and locks it: ErrLocked says that another
// process has it. A torn end is cut off, a file of an older version is written
// anew; Repair tells. Of the options only Clock, NewID and Redact count; those for
// new files count if the file is empty.
func Open(path string, o Options) (l *Log, err error) {
	f, err := openLocked(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the session can't be read: %w", err)
	}
	l = newLog(o)
	l.file = file{path: path, disk: f, stored: true, size: int64(len(data))}
	if len(data) == 0 {
		l.begin()
		return l, l.file.putHeader(l.header)
	}
	end, err := l.load(data)
	if err != nil {
		return nil, fmt.Errorf("%s is no session: %w", path, err)
	}
	if l.repair.Migrated > 0 {
		f, err = l.rewrite(f)
		return l, err
	}
	if end < len(data) {
		if err := f.Truncate(int64(end)); err != nil {
			return nil, fmt.Errorf("the session's torn end can't be cut off: %w", err)
		}
		l.file.size = int64(end)
	}
	if data[end-1] != '\n' {
		err = l.file.put([]byte{'\n'})
	}
	return l, err
}

// openLocked opens the file of a name and locks it. A file that lost its name
// before it was locked is not taken for it.
func openLocked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("the session can't be opened: %w", err)
	}
	held, err := lock(f)
	if held {
		err = ErrLocked
	}
	if err == nil {
		err = named(f, path)
	}
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	return nil, fmt.Errorf("%s: %w", path, err)
}

func named(f *os.File, path string) error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(path)
	if err == nil && !os.SameFile(mine, now) {
		err = ErrChanged
	}
	return err
}

func (f *file) putHeader(h Header) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return f.put(append(data, '\n'))
}

// load reads the text of a file, and returns where what is whole of it ends.
func (l *Log) load(data []byte) (end int, err error) {
	lines, torn := split(data)
	l.repair.Torn = torn
	first := 0
	for first < len(lines) && !json.Valid(lines[first]) {
		first++
	}
	if first == len(lines) {
		return 0, errors.New("none of its lines is JSON")
	}
	if l.header, err = parseHeader(lines[first]); err != nil {
		return 0, err
	}
	if l.header.Version < Version {
		l.repair.Migrated = l.header.Version
		lines = migrate(lines, l.header.Version, l.options.NewID)
		if l.header, err = parseHeader(lines[first]); err != nil {
			return 0, err
		}
	}
	for i, line := range lines {
		if i == first || len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e, err := decode(line)
		if err != nil {
			if l.repair.Unreadable == nil {
				l.repair.Reason = err.Error()
			}
			l.repair.Unreadable = append(l.repair.Unreadable, i+1)
			continue
		}
		l.index(e)
	}
	return len(data) - torn, nil
}

// split makes lines of a file. An end without a newline is a line if it is whole,
// and else torn.
func split(data []byte) (lines [][]byte, torn int) {
	lines = bytes.Split(data, []byte{'\n'})
	last := lines[len(lines)-1]
	if len(last) > 0 && !json.Valid(last) {
		torn = len(last)
	}
	if len(last) == 0 || torn > 0 {
		lines = lines[:len(lines)-1]
	}
	return lines, torn
}

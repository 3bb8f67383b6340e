package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// rewrite puts all of the log into a file that takes the place of the old one, and
// returns the one that is open and locked then.
func (l *Log) rewrite(old *os.File) (*os.File, error) {
	path := l.file.path
	data, err := l.text()
	if err != nil {
		return old, err
	}
	name, err := writeBeside(path, data)
	if err != nil {
		return old, fmt.Errorf("the session can't be written anew: %w", err)
	}
	if os.Rename(name, path) == nil {
		_ = old.Close()
	} else { // Windows does not replace what is open
		_ = old.Close()
		if err := os.Rename(name, path); err != nil {
			return old, fmt.Errorf("the session can't be written anew: %w", errors.Join(err, os.Remove(name)))
		}
	}
	f, err := openLocked(path)
	if err != nil {
		return old, err
	}
	l.file.disk, l.file.size = f, int64(len(data))
	return f, nil
}

// writeBeside writes a file in the folder of another, and returns its name.
func writeBeside(path string, data []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".session-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// text is the whole file.
func (l *Log) text() ([]byte, error) {
	data, err := json.Marshal(l.header)
	if err != nil {
		return nil, err
	}
	for _, e := range l.entries {
		line, err := JSON(e)
		if err != nil {
			return nil, err
		}
		data = append(append(data, '\n'), line...)
	}
	return append(data, '\n'), nil
}

package store

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Remove removes a session's file for good. A session that is open in another
// process stays: ErrLocked.
func Remove(path string) error {
	f, err := openLocked(path)
	if err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // which removes nothing that is open
		err = errors.Join(f.Close(), os.Remove(path))
	} else {
		err = errors.Join(os.Remove(path), f.Close())
	}
	if err != nil {
		return fmt.Errorf("the session can't be removed: %w", err)
	}
	return nil
}

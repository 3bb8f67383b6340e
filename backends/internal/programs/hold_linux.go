package programs

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Hold says that this process uses a program, until the file that it returns is
// closed or the process ends. A program that was removed meanwhile is
// fs.ErrNotExist. It waits for who looks at the program, which is a moment.
func Hold(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) //nolint:gosec // the caller's program
	if err != nil {
		return nil, err
	}
	if err := hold(f); err != nil {
		_ = f.Close() // the reason counts
		return nil, &fs.PathError{Op: "hold", Path: name, Err: err}
	}
	return f, nil
}

func hold(f *os.File) error {
	if err := lock(f, unix.LOCK_SH); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if st.Nlink == 0 {
		return fs.ErrNotExist
	}
	now := unix.NsecToTimeval(time.Now().UnixNano())
	// Where that is not allowed it looks older than it is, and is in use all the same.
	_ = unix.Futimes(int(f.Fd()), []unix.Timeval{now, now})
	return nil
}

// lock takes a lock on an open file.
func lock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

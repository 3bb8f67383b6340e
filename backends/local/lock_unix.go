//go:build unix

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/tools/ops/steps"
)

// Bounds of waiting for a lock, and of tidying up.
const (
	lockPauseMin = time.Millisecond
	lockPauseMax = 32 * time.Millisecond
	lockSweep    = 4 << 10 // names that are looked at
)

// open checks that the folder can be used, makes it if needed, and removes the
// locks that nobody holds: those of processes that were killed.
func (l *locks) open(ctx context.Context) error {
	if l.path == "" {
		return nil
	}
	dir, err := l.folder()
	if err != nil {
		return err
	}
	defer dir.close()
	release, err := l.takeShared(ctx, "") // no file: whether locks work here
	if err != nil {
		return err
	}
	release()
	dir.sweepLocks()
	return nil
}

// folder opens the folder if it is private, and makes it if needed: also later,
// in case it was removed.
func (l *locks) folder() (*folder, error) {
	dir, err := privateFolder(l.path)
	if err != nil {
		return nil, unavailable(l.path, "The folder for locks "+l.path+" can't be used", err)
	}
	return dir, nil
}

func privateFolder(path string) (*folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return nil, errors.New("it is a link: name the folder itself")
	case err != nil:
		return nil, err
	}
	dir := &folder{file: os.NewFile(uintptr(fd), path)}
	if err := dir.private(); err != nil {
		dir.close()
		return nil, err
	}
	return dir, nil
}

// private demands that the folder belongs to this account and that nobody else
// can put something there.
func (d *folder) private() error {
	info, err := d.stat(d.file)
	switch {
	case err != nil:
		return err
	case info.uid != os.Geteuid():
		return fmt.Errorf("it belongs to account %d: name one of this account", info.uid)
	case info.mode.Perm()&0o022 != 0:
		return fmt.Errorf("others may write to it (mode %04o): take that right away with chmod go-w", info.mode.Perm())
	}
	return nil
}

// takeShared is take among processes.
func (l *locks) takeShared(ctx context.Context, path string) (release func(), err error) {
	name := steps.Hash([]byte(path))
	for pause := lockPauseMin; ; pause = min(2*pause, lockPauseMax) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dir, err := l.folder()
		if err != nil {
			return nil, err
		}
		held, err := dir.lock(name)
		if held != nil {
			return func() { dir.unlock(name, held); dir.close() }, nil
		}
		dir.close()
		if err != nil {
			return nil, unavailable(l.path, "A lock in "+l.path+" can't be taken", err)
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// lock takes a lock if nobody holds it; nil and no error means that somebody
// does. The file must still have its name once it is locked: who held it, or the
// folder, may be gone with it.
func (d *folder) lock(name string) (*os.File, error) {
	f, err := d.openAt(name, unix.O_RDWR|unix.O_CREAT, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err = retry(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }); err == nil {
		var mine, named entry
		if mine, err = d.stat(f); err == nil {
			named, err = d.lstat(name)
		}
		if err == nil && mine.dev == named.dev && mine.ino == named.ino {
			return f, nil
		}
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return nil, err
}

// unlock removes the file of a lock while it is held, so that it is nobody
// else's, and gives the lock up.
func (d *folder) unlock(name string, held *os.File) {
	_ = d.remove(name)
	_ = held.Close()
}

// sweepLocks removes the locks of a folder that nobody holds.
func (d *folder) sweepLocks() {
	names, _ := d.file.Readdirnames(lockSweep) // what is read is swept
	for _, name := range names {
		if len(name) != len(steps.Hash(nil)) {
			continue // none of ours
		}
		if held, err := d.lock(name); err == nil && held != nil {
			d.unlock(name, held)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

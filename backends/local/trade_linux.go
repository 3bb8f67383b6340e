package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piremote/piremote/tools/ops"
)

// writerWait is how long a program that has the old file open for writing is waited
// for: what it writes belongs into the comparison.
const writerWait = 100 * time.Millisecond

// errNoTrade means that the file system can't exchange two names.
var errNoTrade = errors.New("two names can't be exchanged here")

// trade gives the new file the name of the one that was seen, which gets the temporary
// name in the same step. So what another program did to it until then is still there to
// be looked at: a file that was replaced or written to gets its name back, and the
// change was not made, which is ops.ErrChanged. One that a program goes on holding open
// for writing is kept beside the new one under the name that is returned, since what
// will be written to it can't be known (hazard MUTQ-04).
func (j job) trade(temp *tempFile) (kept string, err error) {
	if err := temp.complete(); err != nil {
		return "", err
	}
	mine, err := j.dir.lstat(temp.name)
	if err != nil {
		return "", err
	}
	switch err := temp.exchange(j.base); {
	case errors.Is(err, errNoTrade):
		return "", temp.take(j.base)
	case err != nil:
		return "", err
	}
	writing := writers(j.seen.file)
	switch {
	case j.seen.unlike(temp.name):
		return j.giveBack(temp, mine)
	case writing:
		return temp.keep(j.base)
	}
	return "", nil
}

// unlike reports whether the file that had the name until now is not what was seen.
func (s *seen) unlike(name string) bool {
	now, err := s.dir.lstat(name)
	if err != nil {
		return false // it is gone, and what is gone can't be given back
	}
	now.moved = s.entry.moved // by the exchange itself
	return !s.entry.same(now) || s.sameBytes() != nil
}

// giveBack undoes the exchange. What others did to the new file while it had the name
// is not lost either: who replaced it has the last word, and who wrote to it finds it
// beside the other.
func (j job) giveBack(temp *tempFile, mine entry) (kept string, err error) {
	if err := temp.exchange(j.base); err != nil {
		return temp.keep(j.base) // there is no file of that name any more
	}
	f, err := j.dir.open(temp.name, os.O_RDONLY)
	if err != nil {
		return "", ops.ErrChanged
	}
	defer func() { _ = f.Close() }()
	writing := writers(f)
	now, err := j.dir.stat(f)
	switch {
	case err != nil || now.dev != mine.dev || now.ino != mine.ino:
		if err := temp.exchange(j.base); err != nil {
			return "", err
		}
		return temp.keep(j.base)
	case writing || now.size != mine.size || now.modified != mine.modified:
		if kept, err = temp.keep(j.base); err == nil {
			err = fmt.Errorf("%w: what was written to the new file meanwhile is kept as %s", ops.ErrChanged, kept)
		}
		return "", err
	}
	return "", ops.ErrChanged
}

// writers waits, for a moment, until no program has the file open for writing, and
// reports whether one still has. A file system that can't tell is believed: the kernel
// grants a lease for reading only while nobody can write (fcntl(2), F_SETLEASE).
func writers(f *os.File) bool {
	fd := f.Fd()
	for pause, waited := 250*time.Microsecond, time.Duration(0); ; pause *= 2 {
		_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK)
		if err == nil {
			_, _ = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
		}
		if !errors.Is(err, unix.EAGAIN) {
			return false
		}
		if waited >= writerWait {
			return true
		}
		time.Sleep(pause) //nolint:forbidigo // the file has changed hands: this is not to be cut short
		waited += pause
	}
}

// exchange swaps the names of the new file and another one.
func (t *tempFile) exchange(base string) error {
	err := retry(func() error { return unix.Renameat2(t.dir.fd(), t.name, t.dir.fd(), base, unix.RENAME_EXCHANGE) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errNoTrade
	}
	return err
}

// keptNames bounds how many kept versions of a file there may be.
const keptNames = 100

// keep gives what has the temporary name one that stays, derived from base, and returns
// it. If there is none, the temporary name stays.
func (t *tempFile) keep(base string) (name string, err error) {
	for i := range keptNames {
		name = base + ".orig"
		if i > 0 {
			name = fmt.Sprintf("%s.%d", name, i)
		}
		if _, err := t.dir.lstat(name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err := t.renameNew(name)
		if err == nil {
			t.name = ""
			return name, nil
		}
		if !errors.Is(err, errMoved) {
			break
		}
	}
	name, t.name = t.name, ""
	return name, nil
}

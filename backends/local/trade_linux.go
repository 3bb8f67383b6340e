package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// errNoTrade means that the file system can't exchange two names.
var errNoTrade = errors.New("two names can't be exchanged here")

// trade gives the new file the name of the one that was seen, which gets the temporary
// name in the same step. So what another program did to it after the last look is still
// there to be looked at: displaced has to be asked. Where names can't be exchanged the
// old file is gone, and there is nothing to ask.
func (j job) trade(temp *tempFile) (traded bool, err error) {
	if err := temp.complete(); err != nil {
		return false, err
	}
	err = temp.exchange(j.base)
	if errors.Is(err, errNoTrade) {
		return false, temp.take(j.base)
	}
	return err == nil, err
}

// displaced looks at the file that had the name until trade. One that was replaced or
// written to, or that a program holds open for writing, since what it will write can't
// be known, is kept beside the new one under the name that is returned (hazard
// MUTQ-04). It is not given its name back: who had read the new file meanwhile would go
// on from what is undone. It is asked as late as possible: a program may have found the
// file by its name, and not have opened it yet.
func (j job) displaced(temp *tempFile) (kept string) {
	// In this order: whom the first does not see has written before the second.
	if openForWriting(j.seen.file) || j.seen.unlike(temp.name) {
		return temp.keep(j.base)
	}
	return ""
}

// unlike reports whether the file that had the name until now is not what was seen.
func (s *seen) unlike(name string) bool {
	now, err := s.dir.lstat(name)
	if err != nil {
		return false // it is gone, and what is gone can't be kept
	}
	now.moved = s.entry.moved // by the exchange itself
	return !s.entry.same(now) || s.sameBytes() != nil
}

// openForWriting reports whether any program has the file open for writing: only while
// none has does the kernel grant a lease for reading (fcntl(2), F_SETLEASE). A file
// system that can't tell is believed.
func openForWriting(f *os.File) bool {
	fd := f.Fd()
	_, err := unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}

// exchange swaps the names of the new file and another one.
func (t *tempFile) exchange(base string) error {
	err := retry(func() error { return unix.Renameat2(t.dir.fd(), t.name, t.dir.fd(), base, unix.RENAME_EXCHANGE) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errNoTrade
	}
	return err
}

// Bounds of the names of kept files.
const (
	keptNames = 100 // that count; later ones are random
	keptStem  = 200 // bytes of the name that they are derived from
)

// keep gives what has the temporary name one that stays, derived from base, and returns
// it. Where the folder takes no other name it returns the temporary one.
func (t *tempFile) keep(base string) string {
	if len(base) > keptStem {
		end := keptStem
		for !utf8.RuneStart(base[end]) {
			end--
		}
		base = base[:end]
	}
	for i := range keptNames + 1 {
		name := base + ".orig"
		switch {
		case i == keptNames:
			name += "." + rand.Text()
		case i > 0:
			name = fmt.Sprintf("%s.%d", name, i)
		}
		if _, err := t.dir.lstat(name); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err := t.renameNew(name)
		if err == nil {
			t.name = ""
			return name
		}
		if !errors.Is(err, errMoved) {
			break
		}
	}
	name := t.name
	t.name = ""
	return name
}

//go:build unix

package local

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"
)

// reader returns a function that waits for bytes in the pipe. The bytes move
// under the lock, so that drain never misses some that are between pipe and
// count.
func (s *sink) reader() func([]byte) (int, error) {
	conn, err := s.read.SyscallConn()
	if err != nil {
		return func([]byte) (int, error) { return 0, err }
	}
	return func(p []byte) (n int, err error) {
		cerr := conn.Read(func(fd uintptr) bool {
			s.reading.Lock()
			defer s.reading.Unlock()
			for {
				n, err = unix.Read(int(fd), p)
				if !errors.Is(err, unix.EINTR) {
					break
				}
			}
			s.removed += int64(max(n, 0))
			return !errors.Is(err, unix.EAGAIN)
		})
		switch {
		case cerr != nil:
			return 0, cerr
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// pending returns the number of bytes in the pipe. The lock is held.
func (s *sink) pending() int64 {
	conn, err := s.read.SyscallConn()
	if err != nil {
		return 0
	}
	var n int
	if cerr := conn.Control(func(fd uintptr) {
		n, err = unix.IoctlGetInt(int(fd), fionread)
	}); cerr != nil || err != nil {
		return 0
	}
	return int64(n)
}

package local

import "golang.org/x/sys/unix"

// fionread asks for the number of bytes that can be read.
const fionread = unix.TIOCINQ

// grow makes the pipe bigger, if the system allows.
func (s *sink) grow(size int) bool {
	conn, err := s.read.SyscallConn()
	if err != nil {
		return false
	}
	cerr := conn.Control(func(fd uintptr) {
		_, err = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size)
	})
	return cerr == nil && err == nil
}

package local

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

func (s *sink) reader() func([]byte) (int, error) {
	return func(p []byte) (int, error) {
		n, err := s.read.Read(p)
		s.reading.Lock()
		s.removed += int64(max(n, 0))
		s.reading.Unlock()
		return n, err
	}
}

// pending returns the number of bytes in the pipe.
func (s *sink) pending() int64 {
	peek := windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")
	var n uint32
	ok, _, _ := peek.Call(s.read.Fd(), 0, 0, 0, uintptr(unsafe.Pointer(&n)), 0)
	if ok == 0 {
		return 0
	}
	return int64(n)
}

package textout

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// SpillFile is where the full output goes: a new, empty file that is open for
// reading and writing, not for appending.
type SpillFile interface {
	io.Writer
	io.WriterAt
	io.ReaderAt
	io.Closer
}

// Spill keeps the raw output of a command in a file, from the moment that it
// exceeds a threshold, up to a limit. Beyond the limit the first half of it and
// the end are kept. A fault of the file never fails the command; Close reports
// it. It is not safe for concurrent use.
type Spill struct {
	limit     int64
	threshold int
	maxLines  int
	open      func() (SpillFile, error)

	buffer []byte // before the file is open
	lines  int
	file   SpillFile
	err    error
	closed bool
	total  int64
	head   int64 // bytes at the front that are never overwritten
	ring   int64 // size of the circular region behind the head
	next   int64 // where the region is written next
	result SpillResult
}

// minSpill is the least limit: half of it holds the line about what is missing.
const minSpill = 128

// NewSpill returns a spill that opens its file once more than threshold bytes
// or more than maxLines line feeds have come. A limit below 128 bytes is 128.
func NewSpill(limit int64, threshold, maxLines int, open func() (SpillFile, error)) *Spill {
	limit = max(limit, minSpill)
	return &Spill{limit: limit, threshold: threshold, maxLines: maxLines, open: open, head: limit / 2, ring: limit - limit/2}
}

// Write takes the next bytes. It never fails; after Close it does nothing.
func (s *Spill) Write(p []byte) (int, error) {
	switch {
	case s.closed:
	case s.err != nil:
		s.total += int64(len(p))
	case s.file != nil:
		s.put(p)
	default:
		s.lines += bytes.Count(p, []byte{'\n'})
		if len(s.buffer)+len(p) <= s.threshold && s.lines <= s.maxLines {
			s.buffer = append(s.buffer, p...)
			s.total += int64(len(p))
			break
		}
		s.start()
		s.put(p)
	}
	return len(p), nil
}

// start opens the file and writes what came so far.
func (s *Spill) start() {
	file, err := s.open()
	if err != nil {
		s.err = err // file may be a nil pointer in an interface
	} else {
		s.file, s.total = file, 0
		s.put(s.buffer)
	}
	s.buffer = nil
}

func (s *Spill) put(p []byte) {
	for len(p) > 0 && s.err == nil {
		var n int
		if s.total < s.limit {
			n, s.err = s.file.Write(p[:min(int64(len(p)), s.limit-s.total)])
		} else {
			n, s.err = s.file.WriteAt(p[:min(int64(len(p)), s.ring-s.next)], s.head+s.next)
			s.next = (s.next + int64(n)) % s.ring
		}
		if n == 0 && s.err == nil {
			s.err = io.ErrShortWrite
		}
		s.total += int64(n)
		p = p[n:]
	}
	s.total += int64(len(p))
}

// SpillResult says what a spill holds.
type SpillResult struct {
	Written bool  // there is a file
	Size    int64 // bytes in it
	Total   int64 // bytes that came
	Cut     bool  // the limit left some out
}

// Close finishes the file. If the limit was exceeded, the circular region is
// put in order and a line between its halves says how much is missing. The error
// is the first fault of the file, also one of opening or writing it; what the
// file holds is then not the full output. A second Close returns the same.
func (s *Spill) Close() (SpillResult, error) {
	if s.closed {
		return s.result, s.err
	}
	s.closed, s.buffer = true, nil
	s.result.Total = s.total
	if s.file == nil {
		return s.result, s.err
	}
	s.result.Written, s.result.Size = true, min(s.total, s.limit)
	if s.err == nil && s.total > s.limit {
		s.result.Cut = true
		s.err = s.unroll()
	}
	s.err = errors.Join(s.err, s.file.Close())
	return s.result, s.err
}

// unroll rotates the circular region so that it starts with its oldest byte,
// and puts the line that tells what is missing over its first bytes. Reversing
// the two parts and then the whole is a rotation in place.
func (s *Spill) unroll() error {
	middle, end := s.head+s.next, s.head+s.ring
	for _, part := range [][2]int64{{s.head, middle}, {middle, end}, {s.head, end}} {
		if s.next == 0 {
			break // it is in order
		}
		if err := s.reverse(part[0], part[1]); err != nil {
			return err
		}
	}
	marker := ""
	for length := -1; length != len(marker); { // the line counts the bytes that it covers
		length = len(marker)
		marker = fmt.Sprintf("\n[... %d bytes left out ...]\n", s.total-s.limit+int64(length))
	}
	_, err := s.file.WriteAt([]byte(marker), s.head)
	return err
}

// reverse turns the bytes from offset a to offset b around, blocks from both
// ends at a time.
func (s *Spill) reverse(a, b int64) error {
	const block = 256 << 10
	size := min((b-a+1)/2, block)
	low, high := make([]byte, size), make([]byte, size)
	for b-a > 1 {
		n := min((b-a)/2, size)
		low, high := low[:n], high[:n]
		if err := s.readAt(low, a); err != nil {
			return err
		}
		if err := s.readAt(high, b-n); err != nil {
			return err
		}
		slices.Reverse(low)
		slices.Reverse(high)
		if _, err := s.file.WriteAt(high, a); err != nil {
			return err
		}
		if _, err := s.file.WriteAt(low, b-n); err != nil {
			return err
		}
		a, b = a+n, b-n
	}
	return nil
}

// readAt fills p.
func (s *Spill) readAt(p []byte, at int64) error {
	n, err := s.file.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

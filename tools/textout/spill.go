package textout

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// SpillFile is where the full output goes.
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
	total  int64
	head   int64 // bytes at the front that are never overwritten
	ring   int64 // size of the circular region behind the head
	next   int64 // where the region is written next
}

// NewSpill returns a spill that opens its file once more than threshold bytes
// or more than maxLines line feeds have come.
func NewSpill(limit int64, threshold, maxLines int, open func() (SpillFile, error)) *Spill {
	return &Spill{limit: limit, threshold: threshold, maxLines: maxLines, open: open, head: limit / 2, ring: limit - limit/2}
}

// Write takes the next bytes. It never fails.
func (s *Spill) Write(p []byte) (int, error) {
	n := len(p)
	if s.err != nil {
		s.total += int64(n)
		return n, nil
	}
	if s.file == nil {
		s.lines += bytes.Count(p, []byte{'\n'})
		if len(s.buffer)+n <= s.threshold && s.lines <= s.maxLines {
			s.buffer = append(s.buffer, p...)
			s.total += int64(n)
			return n, nil
		}
		if s.file, s.err = s.open(); s.err != nil {
			s.total += int64(n)
			return n, nil
		}
		s.total = 0
		s.put(s.buffer)
		s.buffer = nil
	}
	s.put(p)
	return n, nil
}

func (s *Spill) put(p []byte) {
	for len(p) > 0 && s.err == nil {
		var n int
		switch {
		case s.total < s.limit:
			n, s.err = s.file.Write(p[:min(int64(len(p)), s.limit-s.total)])
		default:
			n, s.err = s.file.WriteAt(p[:min(int64(len(p)), s.ring-s.next)], s.head+s.next)
			s.next = (s.next + int64(n)) % s.ring
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
// put in order and a line between its halves says how much is missing.
func (s *Spill) Close() (SpillResult, error) {
	r := SpillResult{Total: s.total}
	if s.file == nil {
		return r, s.err
	}
	r.Written, r.Size = true, min(s.total, s.limit)
	if s.err == nil && s.total > s.limit {
		r.Cut = true
		r.Size, s.err = s.unroll()
	}
	return r, errors.Join(s.err, s.file.Close())
}

// unroll rotates the circular region so that it starts with its oldest byte,
// and puts the line that tells what is missing over its first bytes.
func (s *Spill) unroll() (int64, error) {
	if err := s.rotate(s.next, s.ring-s.next); err != nil {
		return s.limit, err
	}
	marker := ""
	for length := -1; length != len(marker); { // the line counts the bytes that it covers
		length = len(marker)
		marker = fmt.Sprintf("\n[... %d bytes left out ...]\n", s.total-s.limit+int64(length))
	}
	_, err := s.file.WriteAt([]byte(marker), s.head)
	return s.limit, err
}

// rotate exchanges the first i bytes of the region with the j bytes behind
// them, in place and in little memory, by swapping equal blocks.
func (s *Spill) rotate(i, j int64) error {
	middle := s.head + i
	for i > 0 && j > 0 {
		n := min(i, j)
		at := middle - i
		other := middle
		if i < j {
			other = middle + j - i
		}
		if err := s.swap(at, other, n); err != nil {
			return err
		}
		switch {
		case i > j:
			i -= j
		case j > i:
			j -= i
		default:
			return nil
		}
	}
	return nil
}

// swap exchanges n bytes at offsets a and b, which don't overlap.
func (s *Spill) swap(a, b, n int64) error {
	const block = 256 << 10
	one, two := make([]byte, block), make([]byte, block)
	for n > 0 {
		size := min(n, block)
		for _, part := range []struct {
			buf []byte
			at  int64
		}{{one[:size], a}, {two[:size], b}} {
			if m, err := s.file.ReadAt(part.buf, part.at); int64(m) < size {
				return errors.Join(io.ErrUnexpectedEOF, err)
			}
		}
		if _, err := s.file.WriteAt(two[:size], a); err != nil {
			return err
		}
		if _, err := s.file.WriteAt(one[:size], b); err != nil {
			return err
		}
		a, b, n = a+size, b+size, n-size
	}
	return nil
}

package wire

import "time"

// speed is how fast a stream takes bytes. What buffers on the way take at once
// makes it look faster for a moment; it is judged by enough of them.
type speed struct {
	now   func() time.Time
	bytes int64
	spent time.Duration
}

const (
	// judgeFrom is how many bytes must have been sent to judge, and forgetFrom from
	// how many on the older count less.
	judgeFrom  = 1 << 20
	forgetFrom = 8 << 20
	// fastBytes a second are better sent than compressed: both ends would be busier
	// with that than the link.
	fastBytes = 8 << 20
)

func (s *speed) add(n int, took time.Duration) {
	s.bytes += int64(n)
	s.spent += took
	if s.bytes > forgetFrom {
		s.bytes /= 2
		s.spent /= 2
	}
}

// fast reports whether compressing would slow the stream down.
func (s *speed) fast() bool {
	return s.bytes >= judgeFrom && s.spent.Seconds()*fastBytes < float64(s.bytes)
}

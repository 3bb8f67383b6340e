package local

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

const (
	// smallRead fits the pipe as it is made; a command that fills it gets a
	// bigger pipe and bigger reads.
	smallRead = 64 << 10
	largeRead = 256 << 10
	// drainGrace is how long late output is waited for when something still
	// holds the pipe although the command has ended.
	drainGrace = 60 * time.Millisecond
	drainPoll  = 2 * time.Millisecond
)

// sink carries a command's output from the pipe to the listener and the spill.
// Once stopped it reads on and throws away, so that what the command left behind
// is neither blocked nor killed by a closed pipe.
type sink struct {
	read, write *os.File
	deliver     func(ops.Chunk)
	spill       *spill

	reading sync.Mutex // held while bytes move from the pipe into the count
	removed int64      // bytes taken out of the pipe

	handled atomic.Int64 // bytes delivered or thrown away

	gate    sync.Mutex
	stopped bool

	eof chan struct{} // closed when nobody holds the pipe any more, or it was closed
}

func newSink(deliver func(ops.Chunk), sp *spill) (*sink, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &sink{read: r, write: w, deliver: deliver, spill: sp, eof: make(chan struct{})}, nil
}

// run reads until the pipe is closed at either end.
func (s *sink) run() {
	defer close(s.eof)
	defer func() { _ = s.read.Close() }()
	next := s.reader()
	buf := make([]byte, smallRead)
	for {
		n, err := next(buf)
		if n > 0 {
			s.take(buf[:n])
		}
		if err != nil || n <= 0 {
			return
		}
		if n == smallRead && len(buf) == smallRead && s.grow(largeRead) {
			buf = make([]byte, largeRead)
		}
	}
}

func (s *sink) take(p []byte) {
	s.gate.Lock()
	defer s.gate.Unlock()
	if !s.stopped {
		if s.spill != nil {
			_, _ = s.spill.Write(p) // never fails
		}
		if s.deliver != nil {
			s.deliver(ops.Chunk{Data: p})
		}
	}
	s.handled.Add(int64(len(p)))
}

// drain returns when everything that was in the pipe when it was called has been
// handled, and the pipe is at its end or the grace has passed (hazards BASH-01,
// PROC-03, SSHX-03).
func (s *sink) drain() {
	s.reading.Lock()
	want := s.removed + s.pending()
	s.reading.Unlock()
	grace := time.NewTimer(drainGrace)
	defer grace.Stop()
	select {
	case <-s.eof:
		return
	case <-grace.C:
	}
	poll := time.NewTicker(drainPoll)
	defer poll.Stop()
	for s.handled.Load() < want {
		select {
		case <-s.eof:
			return
		case <-poll.C:
		}
	}
}

// stop ends delivery: afterwards the listener is never called again. It reports
// whether something still holds the pipe.
func (s *sink) stop() bool {
	s.gate.Lock()
	s.stopped = true
	s.gate.Unlock()
	select {
	case <-s.eof:
		return false
	default:
		return true
	}
}

// close closes the pipe and waits for the reader.
func (s *sink) close() {
	_ = s.read.Close()
	<-s.eof
}

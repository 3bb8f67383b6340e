package posix

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
)

// scanner finds the marks of a nonce in a stream, wherever it is cut.
type scanner struct {
	nonce string
	hold  []byte // the beginning of a possible mark
}

// scan calls text for what is no mark and mark for each mark's words. The
// newline before a mark belongs to the mark.
func (s *scanner) scan(p []byte, text func([]byte), mark func([]string)) {
	if len(s.hold) > 0 {
		p = append(s.hold, p...)
		s.hold = nil
	}
	sep := []byte("\n" + s.nonce + " ")
	for {
		i := bytes.Index(p, sep)
		if i < 0 {
			break
		}
		j := bytes.IndexByte(p[i+len(sep):], '\n')
		if j < 0 {
			text(p[:i])
			s.hold = bytes.Clone(p[i:])
			return
		}
		text(p[:i])
		mark(strings.Fields(string(p[i+len(sep) : i+len(sep)+j])))
		p = p[i+len(sep)+j+1:]
	}
	keep := 0
	for n := min(len(p), len(sep)-1); n > 0; n-- {
		if bytes.HasPrefix(sep, p[len(p)-n:]) {
			keep = n
			break
		}
	}
	text(p[:len(p)-keep])
	s.hold = bytes.Clone(p[len(p)-keep:])
}

// rest hands out what was held back, at the end of the stream.
func (s *scanner) rest(text func([]byte)) {
	hold := s.hold
	s.hold = nil
	text(hold)
}

// outStream is the output stream of exec.sh: noise, the mark "run", the
// command's output, the mark "exit", and what background processes still write.
type outStream struct {
	scanner
	deliver func([]byte)

	startOnce, exitOnce once
	started             chan struct{} // closed when the command runs
	exited              chan struct{} // closed when its status is known

	mu      sync.Mutex
	noise   []byte
	pid     string
	run     bool
	failure []string
	hasExit bool
	code    int
	signal  string
}

func (o *outStream) write(p []byte) { o.scan(p, o.text, o.mark) }

func (o *outStream) text(p []byte) {
	switch {
	case len(p) == 0:
	case !o.running():
		o.mu.Lock()
		o.noise = append(o.noise, p[:min(len(p), max(0, 4096-len(o.noise)))]...)
		o.mu.Unlock()
	case !o.hasExit: // only written by this goroutine
		o.deliver(p)
	}
}

func (o *outStream) mark(w []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case len(w) == 0:
	case w[0] == "run" && len(w) == 2 && !o.run:
		o.run, o.pid = true, w[1]
		o.startOnce.close(o.started)
	case w[0] == "err" && !o.run:
		o.failure = w
		o.exitOnce.close(o.exited)
	case w[0] == "exit" && len(w) >= 2 && !o.hasExit:
		code, err := strconv.Atoi(w[1])
		if err != nil {
			return
		}
		o.hasExit, o.code = true, code
		if len(w) > 2 {
			o.signal = strings.TrimPrefix(w[2], "SIG")
		}
		o.exitOnce.close(o.exited)
	}
}

func (o *outStream) running() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.run
}

// errStream is the error stream of exec.sh: noise, the mark "begin", what the
// shell itself says, and the mark "end".
type errStream struct {
	scanner
	endOnce once
	ended   chan struct{}

	mu         sync.Mutex
	begun      bool
	said       int // bytes between begin and end
	background int
}

func (s *errStream) write(p []byte) {
	s.scan(p, func(text []byte) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.begun {
			s.said += len(bytes.TrimSpace(text))
		}
	}, func(w []string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case len(w) == 1 && w[0] == "begin":
			s.begun = true
		case len(w) == 2 && w[0] == "end":
			s.begun = false
			s.background, _ = strconv.Atoi(w[1])
			s.endOnce.close(s.ended)
		}
	})
}

// spoke reports whether the shell said something about the command's end.
func (s *errStream) spoke() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said > 0
}

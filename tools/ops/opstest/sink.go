package opstest

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/piremote/piremote/tools/ops"
)

// sink delivers a command's output until the call has returned, and keeps a
// spill file of it in the tree.
type sink struct {
	memory *Memory
	cmd    ops.Command
	output func(ops.Chunk)

	mu     sync.Mutex
	closed bool
	spill  bytes.Buffer // at most the limit
	total  int64
	lines  int
}

func newSink(m *Memory, cmd ops.Command, output func(ops.Chunk)) *sink {
	if cmd.SpillLimit <= 0 {
		cmd.SpillLimit = ops.DefaultSpillLimit
	}
	return &sink{memory: m, cmd: cmd, output: output}
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return len(p), nil
	}
	s.total += int64(len(p))
	s.lines += bytes.Count(p, []byte("\n"))
	if s.cmd.Spill {
		s.spill.Write(p[:min(int64(len(p)), s.cmd.SpillLimit-int64(s.spill.Len()))])
	}
	if s.output != nil {
		s.output(ops.Chunk{Data: p})
	}
	return len(p), nil
}

func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// finish stops delivery and names the spill file, if there is one.
func (s *sink) finish(exit ops.Exit) ops.Exit {
	s.close()
	if !s.cmd.Spill || s.total <= ops.SpillBytes && s.lines <= ops.SpillLines {
		return exit
	}
	s.memory.mu.Lock()
	s.memory.lastID++
	name := fmt.Sprintf("/tmp/piremote-%d", s.memory.lastID)
	s.memory.mu.Unlock()
	if err := s.memory.PutFile(name, s.spill.Bytes(), 0o600); err != nil {
		return exit
	}
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.spills[name] = true
	exit.SpillPath, exit.SpillSize, exit.SpillCut = name, int64(s.spill.Len()), s.total > int64(s.spill.Len())
	return exit
}

package posix

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/piremote/piremote/tools/ops"
)

// spillChunk is how much raw output is gathered before it is put into the spill
// file, and spillWait how long that may take.
const (
	spillChunk = 1 << 20
	spillWait  = 30 * time.Second
)

// spill keeps the raw output of one command in a private file on the target,
// once it is large enough. The head is kept when the limit cuts it. Every piece
// travels in a run of its own with a known length, so that no second channel
// stays open beside the command's.
type spill struct {
	e       *Engine
	enabled bool
	limit   int64

	buf   bytes.Buffer
	total int64 // bytes seen
	lines int
	kept  int64 // bytes in the file and in buf
	name  string
	dir   string
	size  int64
	fail  bool

	mu     sync.Mutex
	cancel context.CancelFunc // of the transfer under way
}

func newSpill(e *Engine, cmd ops.Command) *spill {
	s := &spill{e: e, enabled: cmd.Spill, limit: cmd.SpillLimit}
	if s.limit <= 0 {
		s.limit = ops.DefaultSpillLimit
	}
	return s
}

// due reports whether the output is large enough to be kept.
func (s *spill) due() bool {
	return s.total > ops.SpillBytes || s.lines > ops.SpillLines
}

func (s *spill) write(ctx context.Context, p []byte) {
	if !s.enabled {
		return
	}
	s.total += int64(len(p))
	s.lines += bytes.Count(p, []byte{'\n'})
	if s.fail {
		return
	}
	for len(p) > 0 && s.kept < s.limit {
		n := min(len(p), spillChunk-s.buf.Len())
		if room := s.limit - s.kept; int64(n) > room {
			n = int(room)
		}
		s.buf.Write(p[:n])
		s.kept += int64(n)
		p = p[n:]
		if s.buf.Len() == spillChunk {
			s.flush(ctx)
		}
	}
}

// abort stops a transfer under way, so that ending the command doesn't wait.
func (s *spill) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

// flush appends what was gathered to the file.
func (s *spill) flush(ctx context.Context) {
	if s.fail || s.buf.Len() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spillWait)
	defer cancel()
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	if err := s.append(ctx); err != nil {
		s.fail = true
	}
	s.buf.Reset()
}

func (s *spill) append(ctx context.Context) error {
	c := s.e.core
	c.spillMu.Lock() // one folder, however many commands begin to spill
	defer c.spillMu.Unlock()
	if s.name == "" {
		s.name = "output-" + nonce()
	}
	c.mu.Lock()
	dir := c.spillDir
	c.mu.Unlock()
	free := s.e.free()
	r, err := free.call(ctx, request{
		script: "spill", args: []string{dir, s.name, strconv.Itoa(s.buf.Len()), nonce()}, bulk: s.buf.Bytes(), effect: true, limit: 1 << 20,
	})
	if err != nil {
		return err
	}
	if _, err := r.failure(); err != nil {
		return err
	}
	info, err := free.info(r[0], s.name)
	if err != nil {
		return err
	}
	if dir == "" {
		dir = string(r[len(r)-1].data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spillDir == "" {
		c.spillDir = dir
	}
	s.dir = dir
	s.size = info.FileSize
	c.spills[dir+"/"+s.name] = info.ID
	return nil
}

// finish puts the rest into the file and says where it is.
func (s *spill) finish(ctx context.Context, exit *ops.Exit) {
	if !s.enabled || !s.due() {
		return
	}
	s.flush(ctx)
	if s.dir == "" {
		return
	}
	exit.SpillPath = s.dir + "/" + s.name
	exit.SpillSize = s.size
	exit.SpillCut = s.size < s.total
}

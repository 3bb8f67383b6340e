package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/backends/internal/largebuf"
	"github.com/piremote/piremote/tools/ops"
)

const (
	// firstPart is what a read asks for at first, and partBytes what it asks for at
	// once of a file that is larger.
	firstPart = wire.MaxPayload - 4<<10 // with what goes with it, a frame
	partBytes = firstPart
	// ahead is the number of parts under way on a connection.
	ahead = 4
	// claimed is the size in bytes up to which memory is made for a file before its
	// content comes.
	claimed = 512 << 20
)

// ReadFile implements ops.ReadOperations: small files in one round trip, large
// ones in parts, over several connections if there may be some.
func (f files) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	first, err := f.part(ctx, nil, wire.ReadRequest{Path: path, Limit: limit, Length: firstPart})
	if err != nil || first.End {
		return first.Data, err
	}
	if size := first.Version.Size; size <= int64(len(first.Data)) || size > claimed {
		return f.readOn(ctx, path, limit, first)
	}
	data := largebuf.Make(int(first.Version.Size))
	copy(data, first.Data)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	next.Store(int64(len(first.Data)))
	f.spread(ctx, int64(len(data)), func(c *conn) {
		var wg sync.WaitGroup
		for range ahead {
			wg.Go(func() {
				for ctx.Err() == nil {
					at := next.Add(partBytes) - partBytes
					if at >= int64(len(data)) {
						return
					}
					want := min(partBytes, int64(len(data))-at)
					r, err := f.part(ctx, c, wire.ReadRequest{Path: path, Limit: limit, Offset: at, Length: want, Same: &first.Version})
					if err == nil && int64(len(r.Data)) != want {
						err = &fs.PathError{Op: "read", Path: path, Err: io.ErrUnexpectedEOF}
					}
					if err != nil {
						cancel(err)
						return
					}
					copy(data[at:], r.Data)
				}
			})
		}
		wg.Wait()
	})
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return data, nil
}

// readOn reads a file part after part, whatever it claims to hold: those of /proc
// claim less than they have.
func (f files) readOn(ctx context.Context, path string, limit int64, first wire.ReadReply) ([]byte, error) {
	r, data := first, first.Data
	for !r.End {
		m := wire.ReadRequest{Path: path, Limit: limit, Offset: int64(len(data)), Length: partBytes}
		if first.Version.Size > claimed {
			m.Same = &first.Version
		}
		next, err := f.part(ctx, nil, m)
		if err != nil {
			return nil, err
		}
		r, data = next, append(data, next.Data...)
		if limit > 0 && int64(len(data)) > limit {
			return nil, &fs.PathError{Op: "read", Path: path, Err: ops.ErrTooLarge}
		}
	}
	return data, nil
}

// part reads a part over c; nil, or one that has ended, means the session's own
// connection.
func (f files) part(ctx context.Context, c *conn, m wire.ReadRequest) (wire.ReadReply, error) {
	m.View = f.number
	var r wire.ReadReply
	req := request{method: wire.MethodRead, body: &m, result: &r, limit: m.Length + wire.MaxPayload}
	err := errLost
	if c != nil {
		err = f.explain(c.do(ctx, req))
	}
	if errors.Is(err, errLost) {
		err = f.read(ctx, req)
	}
	if err == nil && !r.End && len(r.Data) == 0 || int64(len(r.Data)) > m.Length {
		err = f.explain(fmt.Errorf("%w: %d bytes of a file are no part of %d", wire.ErrProtocol, len(r.Data), m.Length))
	}
	return r, err
}

// Open implements ops.Opener. The parts that come next are under way while one is
// read. A file that is replaced meanwhile is ops.ErrChanged.
func (f files) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	first, err := f.part(ctx, nil, wire.ReadRequest{Path: path, Length: firstPart})
	if err != nil {
		cancel()
		return nil, err
	}
	s := &stream{files: f, ctx: ctx, cancel: cancel, path: path, version: first.Version, next: int64(len(first.Data))}
	s.have, s.end = first.Data, first.End
	return s, nil
}

// stream reads a file in parts.
type stream struct {
	files
	ctx     context.Context //nolint:containedctx // of the open file
	cancel  context.CancelFunc
	path    string
	version wire.FileVersion

	have  []byte
	end   bool // behind what was asked for
	next  int64
	parts []chan result // under way, in order
}

type result struct {
	reply wire.ReadReply
	err   error
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.have) == 0 {
		if s.end && len(s.parts) == 0 {
			return 0, io.EOF
		}
		s.ask()
		r := <-s.parts[0]
		s.parts = s.parts[1:]
		if r.err != nil {
			return 0, r.err
		}
		s.have = r.reply.Data
		if r.reply.End {
			s.end, s.parts = true, nil
		}
	}
	n := copy(p, s.have)
	s.have = s.have[n:]
	return n, nil
}

// ask asks for the parts that come next.
func (s *stream) ask() {
	for !s.end && len(s.parts) < ahead {
		done := make(chan result, 1)
		m := wire.ReadRequest{Path: s.path, Offset: s.next, Length: partBytes, Same: &s.version}
		go func() {
			r, err := s.part(s.ctx, nil, m)
			done <- result{r, err}
		}()
		s.parts = append(s.parts, done)
		s.next += partBytes
		// A file that claims its size has nothing behind it.
		s.end = s.version.Size > 0 && s.next >= s.version.Size
	}
}

// Close implements io.Closer; a Read that is under way ends.
func (s *stream) Close() error {
	s.cancel()
	return nil
}

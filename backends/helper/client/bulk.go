package client

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/piremote/piremote/backends/helper/wire"
)

// bulkFrom is the size in bytes from which further connections are worth making.
const bulkFrom = 8 << 20

// spread runs work for the session's own connection, which is nil, at once, and for
// each further one as soon as it is there. It returns when all of it has. That there
// are none to be had only makes a transfer of so many bytes slower.
func (f files) spread(ctx context.Context, size int64, work func(c *conn)) {
	ctx, enough := context.WithCancel(ctx)
	var wg sync.WaitGroup
	if size >= bulkFrom && f.workspace.welcome.Resumable {
		for range f.options.Bulk {
			wg.Go(func() {
				c, err := f.extra(ctx)
				if err != nil {
					return
				}
				defer c.close(ctx, false)
				work(c)
			})
		}
	}
	work(nil)
	enough() // who is not there yet need not come
	wg.Wait()
}

// source is the body of a request while its call lasts: it holds memory of the
// caller, who may change it afterwards.
type source struct {
	mu   sync.RWMutex
	body *wire.Body
	gone bool
}

// part appends the bytes of a part, unless the call has ended.
func (s *source) part(to []byte, at int) ([]byte, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.gone {
		return nil, false
	}
	return s.body.AppendRange(to, at, at+wire.PartSize), true
}

func (s *source) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
}

// upload sends a body in parts, spread over the connections that there are. What one
// of them may have lost is sent again: parts count once. It ends early when ctx does.
func (c *conn) upload(ctx context.Context, n uint64, from *source, spread func(work func(c *conn))) {
	size := from.body.Len()
	c.send(wire.Frame{Type: wire.TypeUpload, Payload: wire.Encode(&wire.Upload{Upload: n, Size: int64(size)})})
	if spread == nil {
		spread = func(work func(c *conn)) { work(nil) }
	}
	announced := c.askSign()
	var next atomic.Int64
	spread(func(to *conn) {
		u := uploader{source: from, number: n}
		var sent []int
		if to == nil {
			to = c
		} else if c.awaitSign(ctx, announced) != nil {
			return
		}
		for to.alive() && ctx.Err() == nil {
			at := int(next.Add(wire.PartSize)) - wire.PartSize
			if at >= size {
				break
			}
			sent = append(sent, at)
			u.send(to, at)
		}
		if to != c && to.ping(ctx) != nil {
			for _, at := range sent {
				u.send(c, at)
			}
		}
	})
}

// uploader sends parts one after the other.
type uploader struct {
	*source
	number        uint64
	data, payload []byte // used again
}

func (u *uploader) send(to *conn, at int) {
	data, ok := u.part(u.data[:0], at)
	if !ok {
		return
	}
	u.data = data
	u.payload = wire.Append(u.payload[:0], &wire.Part{Upload: u.number, Offset: int64(at), Data: data})
	to.send(wire.Frame{Type: wire.TypePart, Payload: u.payload})
}

// randomUpload is the number of an upload: no other of the session has it, also
// not one whose parts are still under way on a connection of before.
func randomUpload() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return max(binary.LittleEndian.Uint64(b[:]), 1)
}

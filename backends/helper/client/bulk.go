package client

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"

	"github.com/piremote/piremote/backends/helper/wire"
)

// bulkFrom is the size in bytes from which further connections are worth making.
const bulkFrom = 8 << 20

// bulk are the further connections of a large transfer.
type bulk struct{ extras []*conn }

// bulk makes further connections for a transfer of so many bytes. That there are
// none to be had only makes it slower.
func (f files) bulk(ctx context.Context, size int64) *bulk {
	b := &bulk{}
	if size < bulkFrom || !f.workspace.welcome.Resumable {
		return b
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range f.options.Bulk {
		wg.Go(func() {
			c, err := f.extra(ctx)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			b.extras = append(b.extras, c)
		})
	}
	wg.Wait()
	return b
}

// workers is the number of parts that may be under way.
func (b *bulk) workers() int { return ahead * (len(b.extras) + 1) }

// get spreads the workers over the connections; nil is the session's own.
func (b *bulk) get(i int) *conn {
	if n := i % (len(b.extras) + 1); n > 0 {
		return b.extras[n-1]
	}
	return nil
}

func (b *bulk) close(ctx context.Context) {
	for _, c := range b.extras {
		c.close(ctx, false)
	}
}

// upload sends a body in parts, spread over the connections of b, if there are
// some. What one of them may have lost is sent again: parts count once.
func (c *conn) upload(ctx context.Context, n uint64, body []byte, b *bulk) {
	c.send(wire.Frame{Type: wire.TypeUpload, Payload: wire.Encode(&wire.Upload{Upload: n, Size: int64(len(body))})})
	conns := []*conn{c}
	if b != nil && len(b.extras) > 0 && c.ping(ctx) == nil {
		conns = append(conns, b.extras...)
	}
	var wg sync.WaitGroup
	for i, to := range conns {
		share := func(to *conn) {
			for at := i * wire.PartSize; at < len(body) && to.alive(); at += len(conns) * wire.PartSize {
				to.send(partFrame(n, body, at))
			}
		}
		wg.Go(func() {
			share(to)
			if to != c && to.ping(ctx) != nil {
				share(c)
			}
		})
	}
	wg.Wait()
}

// randomUpload is the number of an upload: no other of the session has it, also
// not one whose parts are still under way on a connection of before.
func randomUpload() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return max(binary.LittleEndian.Uint64(b[:]), 1)
}

func partFrame(n uint64, body []byte, at int) wire.Frame {
	return wire.Frame{Type: wire.TypePart, Payload: wire.Encode(&wire.Part{
		Upload: n, Offset: int64(at), Data: body[at:min(at+wire.PartSize, len(body))],
	})}
}

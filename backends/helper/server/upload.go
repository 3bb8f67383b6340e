//go:build linux

package server

import (
	"context"
	"fmt"
	"sync"

	"github.com/piremote/piremote/backends/helper/wire"
	"github.com/piremote/piremote/backends/internal/largebuf"
)

// uploads are the bodies that come in parts.
type uploads struct {
	mu    sync.Mutex
	all   map[uint64]*upload
	total int64
}

type upload struct {
	data     []byte
	have     []bool // by part
	missing  int
	complete chan struct{}
}

// announce makes room for an upload.
func (u *uploads) announce(m wire.Upload) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case m.Upload == 0 || u.all[m.Upload] != nil:
		return fmt.Errorf("%w: the upload number %d is in use", wire.ErrProtocol, m.Upload)
	case m.Size <= 0 || m.Size > wire.MaxUpload || u.total+m.Size > wire.MaxUploads:
		return fmt.Errorf("%w: an upload of %d bytes beside %d", wire.ErrProtocol, m.Size, u.total)
	}
	parts := int((m.Size + wire.PartSize - 1) / wire.PartSize)
	if u.all == nil {
		u.all = map[uint64]*upload{}
	}
	// The system gives memory when it is written, not when it is asked for.
	u.all[m.Upload] = &upload{data: largebuf.Make(int(m.Size)), have: make([]bool, parts), missing: parts, complete: make(chan struct{})}
	u.total += m.Size
	return nil
}

// add takes a part.
func (u *uploads) add(m wire.Part) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	up := u.all[m.Upload]
	if up == nil {
		return nil // it was given up
	}
	size := int64(len(up.data))
	if m.Offset < 0 || m.Offset >= size || m.Offset%wire.PartSize != 0 || int64(len(m.Data)) != min(wire.PartSize, size-m.Offset) {
		return fmt.Errorf("%w: a part of %d bytes at %d of an upload of %d", wire.ErrProtocol, len(m.Data), m.Offset, size)
	}
	i := m.Offset / wire.PartSize
	if up.have[i] {
		return nil
	}
	copy(up.data[m.Offset:], m.Data)
	up.have[i] = true
	if up.missing--; up.missing == 0 {
		close(up.complete)
	}
	return nil
}

// take waits until an upload is complete, and forgets it.
func (u *uploads) take(ctx context.Context, n uint64) ([]byte, error) {
	u.mu.Lock()
	up := u.all[n]
	u.mu.Unlock()
	if up == nil {
		return nil, fmt.Errorf("%w: there is no upload %d", wire.ErrProtocol, n)
	}
	defer u.forget(n, up)
	select {
	case <-up.complete:
		return up.data, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (u *uploads) forget(n uint64, up *upload) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all[n] == up {
		u.total -= int64(len(up.data))
		delete(u.all, n)
	}
}

// clear forgets all of them.
func (u *uploads) clear() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all, u.total = nil, 0
}

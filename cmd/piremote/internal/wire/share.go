package wire

import (
	"errors"
	"sync"
)

// handles counts those who use one workspace.
type handles struct {
	mu    sync.Mutex
	count int
	end   func() error
}

// ErrClosed is what sharing a workspace that was closed gives.
var ErrClosed = errors.New("the workspace is closed")

// Share returns another handle of the workspace: the same connection and the same
// queues of changes. The workspace is closed when each handle is, by the last of them.
func (w *Workspace) Share() (*Workspace, error) {
	h := w.handles
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count == 0 {
		return nil, ErrClosed
	}
	h.count++
	return &Workspace{Set: w.Set, Remote: w.Remote, Sandbox: w.Sandbox, handles: h, close: sync.OnceValue(h.release)}, nil
}

// owned makes a workspace the first handle of itself.
func (w *Workspace) owned(end func() error) *Workspace {
	h := &handles{count: 1, end: end}
	w.handles, w.close = h, sync.OnceValue(h.release)
	return w
}

// release gives one handle up.
func (h *handles) release() error {
	h.mu.Lock()
	h.count--
	last := h.count == 0
	h.mu.Unlock()
	if last {
		return h.end()
	}
	return nil
}

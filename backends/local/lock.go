package local

import (
	"context"
	"sync"
)

// locks let one change of a file run at a time: in this workspace, and if there
// is a folder for it also among processes. Such a lock is a file of that folder,
// named by the hash of the canonical path that it stands for. It is held by
// whoever has an exclusive flock on it while it has its name; so a process that
// ends, however, holds nothing. Whoever gives a lock up removes its file (hazards
// MUTQ-04, MUTQ-06).
type locks struct {
	path string // of the folder; empty if there is none

	mu   sync.Mutex
	busy map[string]chan struct{} // by canonical path; closed when it is free
}

// take waits until the caller alone may change the file of a canonical path, or
// ctx ends. It is so until release is called, once.
func (l *locks) take(ctx context.Context, path string) (release func(), err error) {
	leave, err := l.enter(ctx, path)
	if err != nil || l.path == "" {
		return leave, err
	}
	unlock, err := l.takeShared(ctx, path)
	if err != nil {
		leave()
		return nil, err
	}
	return func() { unlock(); leave() }, nil
}

// enter is take in this workspace.
func (l *locks) enter(ctx context.Context, path string) (leave func(), err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l.mu.Lock()
		busy, taken := l.busy[path]
		if !taken {
			if l.busy == nil {
				l.busy = map[string]chan struct{}{}
			}
			free := make(chan struct{})
			l.busy[path] = free
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.busy, path)
				close(free)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
}

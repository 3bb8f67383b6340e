package install

import "sync"

// maxTail bounds what a Tail keeps.
const maxTail = 4 << 10

// Tail keeps the end of what is written to it, some kilobytes: for an Exec, the
// standard error of a program. The zero value is empty; it may be used
// concurrently.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-maxTail):]...)
	if over := len(t.kept) - maxTail; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// String is what is kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

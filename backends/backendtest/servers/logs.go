//go:build unix

package servers

import (
	"bytes"
	"sync"
	"testing"
)

// logs collects a server's output for the case that a test fails.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write keeps at most the last mebibyte or so.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() > 1<<20 {
		l.b.Reset()
	}
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// showIfFailed prints the log at the end of a failed test.
func (l *logs) showIfFailed(tb testing.TB, name string) {
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("log of %s:\n%s", name, l.String())
		}
	})
}

package servers

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Missing skips the test because something named is not there, or fails it if
// PIREMOTE_REQUIRE demands it.
func Missing(tb testing.TB, name, reason string) {
	tb.Helper()
	required, _ := os.LookupEnv("PIREMOTE_REQUIRE") //nolint:forbidigo // test support
	if slices.Contains(strings.Split(required, ","), name) {
		tb.Fatalf("%s is required but not there: %s", name, reason)
	}
	tb.Skipf("%s is not there: %s", name, reason)
}

// logs collects a server's output for the case that a test fails.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

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

// until calls ready every few milliseconds until it reports true or the time is up.
func until(limit time.Duration, ready func() bool) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !ready() {
		select {
		case <-ticker.C:
		case <-deadline.C:
			return false
		}
	}
	return true
}

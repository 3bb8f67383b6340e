//go:build unix

package servers

import (
	"os"
	"testing"
	"time"

	"github.com/piremote/piremote/internal/require"
)

// Missing skips the test because something named is not there, or fails it if
// PIREMOTE_REQUIRE demands it.
func Missing(tb testing.TB, name, reason string) {
	tb.Helper()
	require.Missing(tb, name, reason)
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

func isFile(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.Mode().IsRegular()
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

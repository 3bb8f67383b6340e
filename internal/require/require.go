// Package require turns a skipped test into a failed one where the environment
// variable PIREMOTE_REQUIRE, a list with commas, names what is missing, so that no
// test of an oracle or a server goes missing in silence. It is for tests alone.
package require

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Missing skips the test because something named is not there, or fails it if
// PIREMOTE_REQUIRE demands it.
func Missing(tb testing.TB, name, reason string) {
	tb.Helper()
	if Demanded(name) {
		tb.Fatalf("%s is required but not there: %s", name, reason)
	}
	tb.Skipf("%s is not there: %s", name, reason)
}

// Demanded says whether PIREMOTE_REQUIRE names something.
func Demanded(name string) bool {
	required, _ := os.LookupEnv("PIREMOTE_REQUIRE") //nolint:forbidigo // test support
	return slices.Contains(strings.Split(required, ","), name)
}
